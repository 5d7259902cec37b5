package io.leasehold.verify.variants;

import java.util.List;

/**
 * Variants of a Redis server's notifications about the keys of held locks: the reading, and the conclusions from it.
 */
final class ToldVariants {

    private static final String KEYS = "redis/node/HeldKeys.java";

    private ToldVariants() {}

    static List<Variant> all() {
        // Long because it is a table.
        return List.of(
                new Variant(
                        "hint-is-believed",
                        "a doubted lease is lost without a query",
                        "engine/GrantMachine.java",
                        "doubted(new Verify(), actions);",
                        "lose(LossCause.NOT_OURS, actions);"),
                new Variant(
                        "unread-after-the-break",
                        "messages that may have been missed while the connection was down are not checked for",
                        KEYS,
                        "            changed(null);\n",
                        ""),
                new Variant(
                        "reading-of-a-former-connection",
                        "the values of an earlier reading count for the current one",
                        KEYS,
                        "read.reading() != readings || beingRead.isEmpty()",
                        "beingRead.isEmpty()"),
                new Variant(
                        "reading-of-a-former-hold",
                        "a hold is doubted after a reading from before its beginning",
                        KEYS,
                        "holds.get(hold.key) == hold;",
                        "holds.containsKey(hold.key);"),
                new Variant(
                        "reading-for-each-message",
                        "each message triggers a reading, however many are in flight",
                        KEYS,
                        "waiting || !beingRead.isEmpty() ||",
                        "waiting ||"),
                new Variant(
                        "reading-that-fails-is-the-last",
                        "a failed reading is the last",
                        KEYS,
                        "        actions.add(new Wait(pause));\n",
                        ""),
                new Variant(
                        "owner-of-a-longer-token",
                        "a value that begins like an owner token counts as that owner's",
                        KEYS,
                        "owner.hex() + \":\"",
                        "owner.hex()"),
                new Variant(
                        "late-extension-takes-the-key",
                        "the late reply to a renewal replaces the next hold by a former one",
                        KEYS,
                        "held.isNew() || (known == null && telling)",
                        "held.isNew() || telling"),
                new Variant(
                        "doubted-hold-is-forgotten",
                        "a hold that was doubted before the engine knew it is doubted only once",
                        KEYS,
                        "                resting.add(hold);\n",
                        "                forget(hold);\n"),
                new Variant(
                        "doubted-hold-is-read-at-once",
                        "a doubt that the store refutes is followed by the next without a pause",
                        KEYS,
                        "                resting.add(hold);\n                unread.remove(hold.key);\n",
                        "                unread.add(hold.key);\n"),
                new Variant(
                        "pause-that-does-not-grow",
                        "the store is queried every second about a value that only another server shows",
                        KEYS,
                        "            doubts++;\n",
                        ""),
                new Variant(
                        "doubted-for-ever",
                        "the store is queried repeatedly about a lock that has ended there",
                        KEYS,
                        "hold.untilAtNanos - nowNanos <= 0",
                        "false"),
                new Variant(
                        "flush-is-no-message",
                        "a message about all keys counts for none",
                        KEYS,
                        "unread.addAll(holds.keySet());",
                        "unread.addAll(List.of());"));
    }
}
