import type { Log } from "../../lib/log.ts";
import type { AdmissionRefusal } from "../principal.ts";
import type { Roles } from "./open-roles.ts";

export interface RoleWatch {
  /** Why no role could be made when it was last looked at; undefined where they can be. */
  readonly current: () => AdmissionRefusal | undefined;
  /** Looks again, and logs what has changed. Rejects as `database.askOwn` does. */
  readonly look: () => Promise<void>;
}

/** Follows whether the gateway may make roles, which the operator grants or takes while it runs. */
export function watchRoles({ canMakeRoles }: Pick<Roles, "canMakeRoles">, log: Log): RoleWatch {
  let current: AdmissionRefusal | undefined;
  return {
    current: () => current,
    async look() {
      const answer = await canMakeRoles();
      const found = answer === true ? undefined : answer;
      if (found?.message === current?.message) return;
      current = found;
      if (found === undefined) log.info("BI keys can read: the gateway may create roles now");
      else log.error({ part: "bi" }, `${found.message} ${found.hint ?? ""}`.trim());
    },
  };
}
