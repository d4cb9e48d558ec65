/** Takes the result of one read. It must not throw. */
export interface Taker<Value> {
  readonly take: (value: Value) => void;
  readonly fail: (thrown: unknown) => void;
}

/** Something that is read piece by piece, one read at a time. */
export interface Source<Value> {
  readonly next: () => Promise<Value>;
  /**
   * The same without a promise: calls the taker once, possibly before it returns. A token passes through many sources,
   * and each promise on its way costs as much as its text does.
   */
  readonly receive?: ((taker: Taker<Value>) => void) | undefined;
}

export interface ReceivingSource<Value> extends Source<Value> {
  readonly receive: (taker: Taker<Value>) => void;
}

/** Reads the next value of a source of either kind. */
export function receive<Value>(source: Source<Value>, taker: Taker<Value>): void {
  if (source.receive !== undefined) {
    source.receive(taker);
    return;
  }
  source.next().then(
    (value) => taker.take(value),
    (thrown: unknown) => taker.fail(thrown),
  );
}

/** Reads the next value as a promise. */
export function nextOf<Value>(source: Pick<ReceivingSource<Value>, "receive">): Promise<Value> {
  return new Promise((take, fail) => source.receive({ take, fail }));
}
