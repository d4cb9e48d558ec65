import { hashCredentialUnder } from "../../../../src/access/hash-credential.ts";
import { openSecret } from "../../../../src/access/secret.ts";

const secret = await openSecret({ APP_SECRET: "the secret of the tests", DATA_DIR: "" });

/** Hashes keys under a secret of the tests' own. */
export const hashApiKey = hashCredentialUnder(secret, "api-keys");
