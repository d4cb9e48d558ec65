// Opens the store of DATA_DIR or DATABASE_URL and brings it up to date with the migrations of the folder given; says
// "begun" and "done".
import { writeSync } from "node:fs";
import { loadConfig } from "../../../src/config/load-config.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { openDatabase } from "../../../src/db/open-db.ts";
import { createLog } from "../../../src/lib/log.ts";

const { settings } = loadConfig();
const database = await openDatabase(settings, createLog("error"));
writeSync(1, "begun\n");
await migrate(database, process.argv[2]);
writeSync(1, "done\n");
await database.close();
