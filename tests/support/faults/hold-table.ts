import postgres from "postgres";

/** Locks a table against every reader, so that whoever asks for it waits. */
export async function holdTable(
  databaseUrl: string,
  table: string,
): Promise<{ readonly release: () => Promise<void> }> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  const holding = await sql.reserve();
  await holding.unsafe("begin");
  await holding.unsafe(`lock table ${table} in access exclusive mode`);
  return {
    async release() {
      await holding.unsafe("rollback");
      holding.release();
      await sql.end();
    },
  };
}
