package io.leasehold.verify.variants;

import java.util.List;

/** Those of the two tokens that a fenced resource keeps for readers and writers. */
final class FencingVariants {

    private static final String PAIR = "fencing/TokenPair.java";
    private static final String FILE = "fencing/FileFence.java";
    private static final String SCRIPT = "redis/fenced.lua";
    private static final String COLUMNS = "jdbc/row/FencingColumns.java";

    private FencingVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "late-writer-after-a-newer-read",
                        "a writer is admitted if no newer writer has been here, whatever readers have seen",
                        PAIR,
                        "== Access.READ ? writer : any;",
                        "== Access.READ ? writer : writer;"),
                new Variant(
                        "late-reader-after-a-newer-write",
                        "a writer leaves the token of the newest writer as it was",
                        PAIR,
                        "access == Access.READ ? writer : newest;",
                        "writer;"),
                new Variant(
                        "reader-refuses-reader",
                        "a reader is refused after a newer reader",
                        PAIR,
                        "== Access.READ ? writer : any;",
                        "== Access.READ ? any : any;"),
                new Variant(
                        "reader-counts-as-a-writer",
                        "a reader also sets the token of the newest writer",
                        PAIR,
                        "access == Access.READ ? writer : newest;",
                        "newest;"),
                new Variant(
                        "reader-raises-nothing",
                        "a reader leaves the largest token as it was",
                        PAIR,
                        "long newest = Math.max(any, token);",
                        "long newest = access == Access.READ ? any : token;"),
                new Variant(
                        "file-of-a-writer-with-a-mark",
                        "a writer of a file leaves the mark of the readers before it",
                        FILE,
                        "isReaders ? READ : WRITTEN",
                        "READ"),
                new Variant(
                        "file-of-a-reader-without-a-mark",
                        "a reader of a file counts as a writer for older readers",
                        FILE,
                        "isReaders ? READ : WRITTEN",
                        "WRITTEN"),
                new Variant(
                        "file-without-its-second",
                        "a reader of a file does not write whose the file was",
                        FILE,
                        "            put(second, newestWriter, WRITTEN);\n",
                        "            second.force(true);\n"),
                new Variant(
                        "file-mark-before-its-second",
                        "a reader of a file sets the mark before it writes whose the file was",
                        FILE,
                        """
                        (after.writer() == kept.writer() || isNoted(channel, kept, after.writer()));
                                put(channel, after.any(), isReaders ? READ : WRITTEN);
                        """,
                        """
                        after.any() >= after.writer();
                                put(channel, after.any(), isReaders ? READ : WRITTEN);
                                if (isReaders && after.writer() != kept.writer()) {
                                    isNoted(channel, new Kept(after.any(), false, -1, null), after.writer());
                                }
                        """),
                new Variant(
                        "file-whose-second-cannot-be-written",
                        "a reader of a file sets the mark although it could not write whose the file was",
                        FILE,
                        "        } catch (IOException unusable) {\n"
                                + "            // The reader counts as a writer.\n            return false;",
                        "        } catch (IOException unusable) {\n            return true;"),
                new Variant(
                        "file-whose-second-is-lost",
                        "a file whose second number is lost counts as one without a writer",
                        FILE,
                        "        } catch (NoSuchFileException lost) {\n            return -1;",
                        "        } catch (NoSuchFileException lost) {\n            return 0;"),
                new Variant(
                        "value-of-a-writer-with-a-mark",
                        "a writer of a Redis value leaves the mark of the reader with its own token",
                        SCRIPT,
                        "local registers = token > newest or shared",
                        "local registers = token > newest"),
                new Variant(
                        "value-without-a-mark",
                        "a reader of a Redis value counts as a writer for older readers",
                        SCRIPT,
                        "'0' .. string.format('%.0f', token)",
                        "string.format('%.0f', token)"),
                new Variant(
                        "value-whose-mark-is-not-put-back",
                        "a writer of a Redis value whose command failed leaves the newest token without its mark",
                        SCRIPT,
                        "  if registers then\n    -- Nothing was done",
                        "  if token > newest then\n    -- Nothing was done"),
                new Variant(
                        "value-whose-writer-is-lost",
                        "a Redis value whose writer's token is lost counts as one without a writer",
                        SCRIPT,
                        "WRITER)) or newest",
                        "WRITER)) or 0"));
    }

    static List<Variant> rows() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "row-of-a-late-writer",
                        "a writer of a row is admitted if no newer writer has been here, whatever readers have seen",
                        COLUMNS,
                        "newest + \" <= ?)\"",
                        "(readers == null ? newest : readers.effective(newest)) + \" <= ?)\""),
                new Variant(
                        "row-of-a-late-reader",
                        "a reader of a row is admitted after a newer writer",
                        COLUMNS,
                        "writer + \" <= ?)\"",
                        "\"0 <= ?)\""),
                new Variant(
                        "row-whose-reader-counts-as-a-writer",
                        "a reader of a row also sets the token of the newest writer",
                        COLUMNS,
                        "\" IS NULL THEN 0 ELSE \" + writer + \" END, \"",
                        "\" IS NULL THEN 0 ELSE NULL END, \""),
                new Variant(
                        "row-of-a-writer-with-a-writer-before",
                        "a writer of a row that brings the newest reader's token leaves the writer before it",
                        COLUMNS,
                        "readers.writer.name() + \" = NULL, \"",
                        "readers.writer.name() + \" = \" + readers.writer.name() + \", \""),
                new Variant(
                        "row-whose-null-is-no-writer",
                        "a row whose writer is null counts as one without a writer",
                        COLUMNS,
                        """
                        " AND " + writer.name() + " BETWEEN 0 AND "
                                            + newest + " THEN " + writer.name() + " ELSE "\
                        """,
                        """
                        " AND COALESCE(" + writer.name() + ", 0) BETWEEN 0 AND "
                                            + newest + " THEN COALESCE(" + writer.name() + ", 0) ELSE "\
                        """),
                new Variant(
                        "row-raised-alone",
                        "the writer of a row counts although a client without readers has raised the newest token",
                        COLUMNS,
                        "writerAt.name() + \" = \" + newest + \" AND \"",
                        "writerAt.name() + \" > 0 AND \""),
                new Variant(
                        "row-with-the-larger-of-null",
                        "the first reader of a row stores the larger of its token and null, which is null on MariaDB",
                        COLUMNS,
                        "\"CASE WHEN \" + newest + \" >= ? THEN \" + newest + \" ELSE ? END\"",
                        "\"GREATEST(\" + newest + \", ?, ?)\""),
                new Variant(
                        "row-with-the-newest-token-first",
                        "a reader's update sets the newest token first, from which MariaDB then computes the writer",
                        COLUMNS,
                        """
                        " SET " + columns.writer.name() + " = CASE WHEN " + newest
                                        + " IS NULL THEN 0 ELSE " + writer + " END, " + columns.writerAt.name() + " = " + larger + ", " + newest
                                        + " = " + larger + " WHERE "\
                        """,
                        """
                        " SET " + newest + " = " + larger + ", " + columns.writer.name() + " = CASE WHEN " + newest
                                        + " IS NULL THEN 0 ELSE " + writer + " END, " + columns.writerAt.name() + " = " + larger + " WHERE "\
                        """),
                new Variant(
                        "row-unlocked-for-a-reader",
                        "a reader that changes nothing is admitted by a query, which leaves the row to others",
                        "jdbc/SqlFencingGuard.java",
                        "if (register(connection, key, token, access)) {",
                        """
                        Seen kept = access == Access.READ ? seen(connection, key, "") : null;
                                    if (kept != null && kept.newest >= token && kept.writer <= token
                                            || register(connection, key, token, access)) {\
                        """));
    }
}
