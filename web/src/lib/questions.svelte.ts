/** A question before something is deleted or changed in many places; the shell shows it above everything. */
export interface Question {
  title: string;
  text: string;
  /** The verb on the button that goes on. */
  action: string;
}

class Questions {
  current = $state.raw<Question | null>(null);
  private resolve: ((isMeant: boolean) => void) | undefined;

  /** Ask; returns whether the answer was to go on. A question that is asked meanwhile is answered with no. */
  ask(question: Question): Promise<boolean> {
    if (this.current) return Promise.resolve(false);
    this.current = question;
    return new Promise((resolve) => (this.resolve = resolve));
  }

  answer(isMeant: boolean): void {
    this.current = null;
    this.resolve?.(isMeant);
    this.resolve = undefined;
  }
}

export const questions = new Questions();
