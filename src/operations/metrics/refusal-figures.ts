import type { ErrorCode } from "../../core/service-error.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import type { LimitRefusal } from "../../usage/sums/limit-refusals.ts";

const LIMIT_CODES = [
  "rate_limit_exceeded",
  "request_limit_exceeded",
  "token_limit_exceeded",
  "monthly_limit_exceeded",
] as const satisfies readonly ErrorCode[];

/** The calls that this process has refused for a limit of their key, by the code their client was told. */
export interface RefusalFigures {
  readonly codes: Readonly<Record<(typeof LIMIT_CODES)[number], number>>;
  readonly count: (refusal: Pick<LimitRefusal, "code">) => void;
}

export function createRefusalFigures(): RefusalFigures {
  const codes = zeroCounts(LIMIT_CODES);
  return {
    codes,
    count({ code }) {
      if (isLimitCode(code)) codes[code] += 1;
    },
  };
}

function isLimitCode(code: ErrorCode): code is (typeof LIMIT_CODES)[number] {
  return (LIMIT_CODES as readonly ErrorCode[]).includes(code);
}
