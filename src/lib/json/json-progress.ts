/** How much of an object or array has arrived. */
export type Progress = "before" | "within" | "after";

/** Follows an object or array in JSON that arrives in pieces. Reads each character once, and only when it is asked. */
export class JsonProgress {
  #unread = "";
  #hasBegun = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  add(text: string): void {
    this.#unread += text;
  }

  /** `before` while only white space has arrived. */
  read(): Progress {
    for (const character of this.#unread) this.#readCharacter(character);
    this.#unread = "";
    if (!this.#hasBegun) return "before";
    return this.#depth > 0 || this.#isInString ? "within" : "after";
  }

  #readCharacter(character: string): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === "\\") this.#isEscaped = true;
      else if (character === '"') this.#isInString = false;
      return;
    }
    if (character.trim() === "") return;
    this.#hasBegun = true;
    if (character === '"') this.#isInString = true;
    else if (character === "{" || character === "[") this.#depth += 1;
    else if (character === "}" || character === "]") this.#depth -= 1;
  }
}
