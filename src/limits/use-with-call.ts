import { WINDOW_MS } from "./call-window.ts";
import type { KeyUse } from "./key-use.ts";

/** Where a key stands once one more call is admitted that holds so many tokens. The window's opening is not told. */
export function useWithCall(use: KeyUse, tokens: number): KeyUse {
  return {
    ...use,
    windowCalls: use.windowCalls + 1,
    windowEmptiesInMs: WINDOW_MS,
    requests: use.requests + 1,
    reservedTokens: use.reservedTokens + tokens,
    monthReservedTokens: use.monthReservedTokens + tokens,
  };
}
