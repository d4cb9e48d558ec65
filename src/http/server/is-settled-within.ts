/**
 * Resolves with true when the promise resolves in time, with false when it is still pending then. Rejects when the
 * promise rejects in time; a later rejection is left to the promise's other users.
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
