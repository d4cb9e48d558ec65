/** How far an object or array in JSON has come that arrives in pieces. Each character is looked at once, when it is asked. */
export class JsonProgress {
  #unread = "";
  #hasBegun = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  add(text: string): void {
    this.#unread += text;
  }

  /** @param beforeBegun the answer while there is nothing but white space. */
  isOpen(beforeBegun: boolean): boolean {
    for (const character of this.#unread) this.#read(character);
    this.#unread = "";
    return this.#hasBegun ? this.#depth > 0 || this.#isInString : beforeBegun;
  }

  #read(character: string): void {
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
