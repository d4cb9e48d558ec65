/** Settles as `work` does, or rejects with `tooLate()` after `limitMs`. The work itself continues. */
export async function within<Result>(
  work: Promise<Result>,
  limitMs: number,
  tooLate: () => Error,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate()), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
