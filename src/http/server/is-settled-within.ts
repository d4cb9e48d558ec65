/**
 * True when the promise resolves in time, false when it is still pending then. Throws what it rejects with in time;
 * a later rejection is left to whoever holds the promise.
 */
export function isSettledWithin(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(false), timeoutMs);
    promise.then(
      () => {
        clearTimeout(timer);
        resolve(true);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
