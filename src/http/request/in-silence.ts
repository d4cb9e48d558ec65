import type { RequestContext } from "./routes/route.ts";

/** Lets the connection be silent during work that may take longer than connections may be quiet. */
export async function inSilence<Result>(
  { env }: RequestContext,
  work: () => Promise<Result>,
): Promise<Result> {
  const endSilence = env.allowSilence();
  try {
    return await work();
  } finally {
    endSilence();
  }
}
