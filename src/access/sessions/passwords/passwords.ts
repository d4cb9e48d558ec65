import { verify } from "@node-rs/argon2";
import { ServiceError } from "../../../core/service-error.ts";
import { limitWork } from "../../../lib/concurrency.ts";
import { randomBase62 } from "../../../lib/id.ts";
import { hashPassword } from "./hash-password.ts";

/** Password hashes are expensive by design, so only a few are computed at once. */
const AT_ONCE_MAX = 2;
const WAITING_MAX = 64;

/** Hashes and compares passwords. Both functions reject with `overloaded` when too many calls wait. */
export interface Passwords {
  readonly hash: (password: string) => Promise<string>;
  /**
   * @param hash is null for an unknown user or one without a password. The call then costs the same and resolves with
   * false.
   */
  readonly isRight: (password: string, hash: string | null) => Promise<boolean>;
}

export function createPasswords(): Passwords {
  const inTurn = limitWork({ running: AT_ONCE_MAX, waiting: WAITING_MAX, refusal: tooMany });
  let standIn: Promise<string> | undefined;
  return {
    hash: (password) => inTurn(() => hashPassword(password)),
    isRight: (password, hash) =>
      inTurn(async () => {
        // The stand-in is created at the first call for any user, so that its time does not reveal which users have a
        // hash.
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
