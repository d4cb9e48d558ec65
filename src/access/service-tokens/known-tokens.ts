import { eq } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { serviceTokens } from "../../db/tables/service-tokens.ts";
import { users } from "../../db/tables/users.ts";
import type { HashCredential } from "../hash-credential.ts";
import {
  type KnownCredentials,
  type KnownCredentialsOptions,
  openKnownCredentials,
} from "../known-credentials.ts";
import { type KnownToken, toKnownToken } from "./known-token.ts";

export type ServiceTokens = KnownCredentials<KnownToken>;

export interface OpenServiceTokensOptions
  extends Pick<KnownCredentialsOptions<KnownToken>, "database" | "log"> {
  readonly hashServiceToken: HashCredential;
}

/** Loads all service tokens and follows their changes until closed. */
export function openServiceTokens({
  database,
  hashServiceToken,
  log,
}: OpenServiceTokensOptions): Promise<ServiceTokens> {
  return openKnownCredentials({
    database,
    log,
    counter: "service_tokens",
    name: "service token",
    hash: hashServiceToken,
    table: serviceTokens,
    readAll: readTokens,
  });
}

async function readTokens(db: Db): Promise<ReadonlyMap<string, KnownToken>> {
  const rows = await db
    .select({ token: serviceTokens, role: users.role, state: users.state })
    .from(serviceTokens)
    .innerJoin(users, eq(users.id, serviceTokens.createdBy));
  return new Map(rows.map((row) => [row.token.tokenHash, toKnownToken(row)]));
}
