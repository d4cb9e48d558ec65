import { eq, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { files } from "../../db/tables/knowledge.ts";
import type { FileStore } from "./files.ts";

/** Makes the placing and the removal of equal contents wait for each other until the transaction ends. */
export async function lockContent(transaction: Db, sha256: string): Promise<void> {
  await transaction.execute(
    sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.original}::int, hashtext(${sha256}))`,
  );
}

/**
 * Removes a content that no file has. Never rejects: a content that stays is removed by the job for unreferenced ones.
 */
export async function removeUnreferenced(
  { database, originals, log }: Pick<FileStore, "database" | "originals" | "log">,
  sha256: string,
): Promise<void> {
  try {
    await withTransaction(database.db, async (transaction) => {
      await lockContent(transaction, sha256);
      const sameContent = eq(files.sha256, sha256);
      const [file] = await transaction
        .select({ id: files.id })
        .from(files)
        .where(sameContent)
        .limit(1);
      if (file === undefined) await originals.remove(sha256);
    });
  } catch (thrown) {
    log.warn({ err: thrown }, "the content of a deleted file was not removed; this is retried");
  }
}
