/** The folder is not there to be looked at: nothing is known of its files. */
export class FolderAway extends Error {
  override readonly name = "FolderAway";
}
