import { afterAll } from "vitest";
import { startPostgresCluster } from "./postgres-cluster.ts";

// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const given = process.env["TEST_DATABASE_URL"];
const cluster = given === undefined ? await startPostgresCluster() : undefined;
afterAll(() => cluster?.remove());

/** A real PostgreSQL for the tests of one file: the one that is given, else one of its own; undefined where there is none. */
export const databaseServerUrl: string | undefined = given ?? cluster?.url;
