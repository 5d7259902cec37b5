package io.leasehold.verify.variants;

import java.util.List;

/** The variants of a connection that several clients of a process share. */
final class SharedVariants {

    private static final String LINE = "redis/topology/SharedLine.java";
    private static final String PART = "redis/topology/SharedConnection.java";
    private static final String LINES = "redis/topology/SharedLines.java";

    private SharedVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "doubted-is-offered",
                        "a connection that one client doubts is given to further clients",
                        LINE,
                        "retired |= last || doubted;",
                        "retired |= last;"),
                new Variant(
                        "doubt-of-one-ends-all",
                        "a client that closes its part ends the connection of the others",
                        LINE,
                        "if (last) {",
                        "if (last || doubted) {"),
                new Variant(
                        "late-answer-after-the-end",
                        "a client that has closed its part gets a late answer after the failure",
                        PART,
                        "if (leave(this) && waiting != null) {",
                        "leave(this);\n            if (waiting != null) {"),
                new Variant(
                        "closed-part-sends",
                        "a client sends over a part that it has closed",
                        PART,
                        "if (over) {",
                        "if (over && then == null) {"),
                new Variant(
                        "silent-is-shared",
                        "a connection that does not answer is given to a further client",
                        LINES,
                        "if (lives && part.isOpen()) {",
                        "if (part.isOpen()) {"),
                new Variant(
                        "hanging-is-offered",
                        "a new connection is given to further clients before its first answer",
                        LINES,
                        "if (!lives || isOffered(line, server)) {",
                        "if (isOffered(line, server)) {"),
                new Variant(
                        "fails-before-it-is-sent",
                        "a request fails while its sender can still send it, so that its undo may precede it",
                        PART,
                        "while (one != null && !one.sent) {",
                        "while (one != null && one.then == null) {"),
                new Variant(
                        "other-database-is-shared",
                        "clients of different databases share a connection",
                        "redis/topology/RedisUri.java",
                        "&& database == other.database",
                        ""));
    }
}
