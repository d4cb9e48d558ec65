-- A chunk's words and vector are read with each search that weighs it. By default a row of more than 2 KB is compressed
-- and its vector is stored elsewhere, which took three quarters of such a search. Rows from before stay as they are.
ALTER TABLE "chunks" SET (toast_tuple_target = 8160);
