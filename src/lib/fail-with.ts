/**
 * Returns a function that settles as a piece of work does, or rejects as `failure` does, whichever comes first. Many works
 * may share a failure that lives long: a race against it would hold the result of each until it settles.
 */
export function failWith(
  failure: Promise<never>,
): <Result>(work: PromiseLike<Result>) => Promise<Result> {
  const waiting = new Set<(reason: unknown) => void>();
  let failed: { readonly reason: unknown } | undefined;
  failure.catch((reason: unknown) => {
    failed = { reason };
    for (const reject of waiting) reject(reason);
  });
  return (work) =>
    new Promise((resolve, reject) => {
      if (failed !== undefined) reject(failed.reason);
      waiting.add(reject);
      const end = () => waiting.delete(reject);
      work.then(resolve, reject).then(end, end);
    });
}
