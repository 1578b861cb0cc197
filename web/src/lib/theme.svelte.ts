/** Light and dark: as the system says until somebody chooses here. */
export type Theme = "system" | "light" | "dark";

class ThemeState {
  chosen = $state<Theme>("system");
  system = $state<"light" | "dark">("light");

  get current(): "light" | "dark" {
    return this.chosen === "system" ? this.system : this.chosen;
  }

  start(): void {
    const query = matchMedia("(prefers-color-scheme: dark)");
    this.system = query.matches ? "dark" : "light";
    query.addEventListener("change", () => {
      this.system = query.matches ? "dark" : "light";
      this.apply();
    });
    try {
      const kept = localStorage.getItem("fabula.theme");
      if (kept === "light" || kept === "dark") this.chosen = kept;
    } catch {
      // a browser may keep nothing
    }
    this.apply();
  }

  choose(theme: Theme): void {
    this.chosen = theme;
    try {
      localStorage.setItem("fabula.theme", theme);
    } catch {
      // a browser may keep nothing
    }
    this.apply();
  }

  private apply(): void {
    document.documentElement.dataset.theme = this.current;
  }
}

export const theme = new ThemeState();
