import { verify } from "@node-rs/argon2";
import { ServiceError } from "../../core/service-error.ts";
import { limitWork } from "../../lib/concurrency.ts";
import { randomBase62 } from "../../lib/id.ts";
import { hashPassword } from "./hash-password.ts";

/** Passwords are dear on purpose, so only a few are in work at once. */
const AT_ONCE_MAX = 2;
const WAITING_MAX = 64;

/** Hashes and compares passwords. Each rejects with `overloaded` when too many wait. */
export interface Passwords {
  readonly hash: (password: string) => Promise<string>;
  /** @param hash null, for a user who has none or is none, costs the same and is false. */
  readonly isRight: (password: string, hash: string | null) => Promise<boolean>;
}

export function createPasswords(): Passwords {
  const inTurn = limitWork({ running: AT_ONCE_MAX, waiting: WAITING_MAX, refusal: tooMany });
  let standIn: Promise<string> | undefined;
  return {
    hash: (password) => inTurn(() => hashPassword(password)),
    isRight: (password, hash) =>
      inTurn(async () => {
        // Made at the first question whoever it is about, so that no time tells of whom there is a hash.
        standIn ??= hashPassword(randomBase62(20));
        const other = await standIn;
        return (await verify(hash ?? other, password)) && hash !== null;
      }),
  };
}

function tooMany(): ServiceError {
  return new ServiceError("overloaded", "Too many passwords are being checked; try again soon.", {
    retryAfterSeconds: 2,
  });
}
