import { svelte } from "@sveltejs/vite-plugin-svelte";
import { svelteTesting } from "@testing-library/svelte/vite";
import { defineConfig } from "vitest/config";

// `npm run dev` shows the page with a server beside it: `fabula serve --port 8600`.
const server = "http://127.0.0.1:8600";
const proxied = { target: server, changeOrigin: true, headers: { origin: server } };

export default defineConfig({
  plugins: [svelte(), svelteTesting()],
  build: {
    outDir: "../src/fabula/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: { proxy: { "/api": proxied, "/open": proxied } },
  test: { environment: "jsdom", include: ["tests/**/*.test.ts"] },
});
