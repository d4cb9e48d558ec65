type Part = Promise<IteratorResult<Uint8Array, unknown>>;

/** The named inputs of one job: each is read in the background, one part ahead of the process. */
export class JobInputs {
  readonly #iterators: ReadonlyMap<string, AsyncIterator<Uint8Array>>;
  readonly #ahead = new Map<string, Part>();
  #isClosed = false;

  constructor(inputs: Readonly<Record<string, AsyncIterable<Uint8Array>>>) {
    this.#iterators = new Map(
      Object.entries(inputs).map(([name, parts]) => [name, parts[Symbol.asyncIterator]()]),
    );
  }

  /** Returns null at the end. Rejects with what the input throws. */
  async next(name: string): Promise<Uint8Array | null> {
    const part = await (this.#ahead.get(name) ?? this.#read(name));
    if (part.done === true) return null;
    if (!this.#isClosed) this.#ahead.set(name, this.#read(name));
    return part.value;
  }

  /** Ends all inputs. What one does while it ends is nobody's concern any more. */
  close(): void {
    this.#isClosed = true;
    for (const iterator of this.#iterators.values())
      void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }

  #read(name: string): Part {
    const iterator = this.#iterators.get(name);
    if (iterator === undefined) throw new Error(`The job has no input '${name}'.`);
    const part = iterator.next();
    // It is awaited when the process asks for it, which may be never.
    part.catch(() => undefined);
    return part;
  }
}
