import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects all garbage now, on either runtime. */
export function collectGarbage(): void {
  const { Bun: bun } = globalThis as { Bun?: { readonly gc: (isSync: boolean) => void } };
  if (bun !== undefined) bun.gc(true);
  else {
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
  }
}
