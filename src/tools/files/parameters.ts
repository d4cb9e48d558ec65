/** How tools name a file connection. */
export const CONNECTION = {
  type: "string",
  minLength: 1,
  maxLength: 200,
  description:
    "The name of the file connection, as list_file_connections names it. It may be left out when there is only one.",
};

export const GLOB = {
  type: "string",
  minLength: 1,
  maxLength: 1_000,
  description:
    "Which paths, relative to the connection: `*` is any text within one level, `**` any number of levels, `?` one " +
    "character. `**/*.csv` is every CSV file, `reports/*` what is directly in `reports`. Without one of these it is " +
    "the beginning of a path.",
};

export const WITH_HIDDEN = {
  type: "boolean",
  description:
    "Also files and folders whose name begins with a dot. They are left out unless this is true or the glob names them.",
};
