import type { AdmissionRefusal } from "../principal.ts";

/** Why a principal has no login role: the operator has to change something on the database server. */
export class RoleRefusal extends Error {
  override readonly name = "RoleRefusal";
  /** For the client, the log and `/api/ready`. */
  readonly refusal: AdmissionRefusal;

  constructor(message: string, hint: string) {
    super(message);
    this.refusal = { code: "58000", message, hint };
  }
}

export function noCreateRole(user: string): RoleRefusal {
  return new RoleRefusal(
    "BI keys cannot read yet: the gateway may not create roles on its PostgreSQL server.",
    `As an administrator of the server, run: ALTER ROLE ${quoteName(user)} CREATEROLE;`,
  );
}

/** A role of this name is there, and the gateway may not change it. */
export function notOurs(role: string, user: string): RoleRefusal {
  return new RoleRefusal(
    `The gateway may not change the role ${role} on its PostgreSQL server.`,
    `As an administrator of the server, run: GRANT ${quoteName(role)} TO ${quoteName(user)} WITH ADMIN OPTION; ` +
      "or drop the role, and the gateway creates it again.",
  );
}

/** A role of this name is there that the gateway has not made. */
export function foreignRole(role: string): RoleRefusal {
  return new RoleRefusal(
    `The role ${role} on the PostgreSQL server is not of this gateway: its comment does not say so.`,
    `As an administrator of the server, run: DROP ROLE ${quoteName(role)};`,
  );
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
