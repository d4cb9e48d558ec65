/**
 * A real PostgreSQL for tests, with a superuser; undefined where there is none. The run starts one where it is installed
 * (shared-postgres.ts), unless TEST_DATABASE_URL names one.
 */
// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
export const databaseServerUrl: string | undefined = process.env["TEST_DATABASE_URL"];
