package io.leasehold.verify.variants;

import java.util.List;

/** Those of the two tokens that a fenced resource keeps for readers and writers. */
final class FencingVariants {

    private static final String PAIR = "fencing/TokenPair.java";
    private static final String FILE = "fencing/FileFence.java";
    private static final String SCRIPT = "redis/fenced.lua";

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
}
