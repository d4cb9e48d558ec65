import { randomBase62 } from "./id.ts";

/**
 * Creates a generator of request ids: `req_` + time + process + counter. The process part makes them unique over
 * replicas and restarts. They sort by time, and cost far less than a random id per request.
 */
export function createRequestIds(): (nowMs: number) => string {
  const process = randomBase62(8);
  let counter = 0;
  return (nowMs) => {
    counter = (counter + 1) % COUNTER_LIMIT;
    return `req_${nowMs.toString(36)}${process}${(counter + COUNTER_LIMIT).toString(36).slice(1)}`;
  };
}

/** Five base-36 digits: 60 million ids in one millisecond. */
const COUNTER_LIMIT = 36 ** 5;

/** The process and the counter follow the time. */
const ID = /^req_([0-9a-z]{6,9})[0-9A-Za-z]{8}[0-9a-z]{5}$/;

/** Returns when the request arrived, in Unix milliseconds; undefined for an id of another form. */
export function timeOfRequestId(id: string): number | undefined {
  const time = ID.exec(id)?.[1];
  return time === undefined ? undefined : Number.parseInt(time, 36);
}
