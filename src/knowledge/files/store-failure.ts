import { ServiceError } from "../../core/service-error.ts";

const FULL: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Runs work in FILES_DIR. Rejects with `storage_unavailable` when the file system fails; other errors stay. */
export async function inFilesDir<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    throw isSystemError(thrown) ? unusable(thrown) : thrown;
  }
}

function isSystemError(thrown: unknown): thrown is NodeJS.ErrnoException {
  return thrown instanceof Error && "syscall" in thrown;
}

function unusable(cause: NodeJS.ErrnoException): ServiceError {
  const text = FULL.has(cause.code)
    ? "There is no room for the file: the disk of FILES_DIR is full. The operator has to free space there."
    : `FILES_DIR cannot be used (${cause.code}). The operator has to check its mount and its permissions.`;
  return new ServiceError("storage_unavailable", text, { cause });
}
