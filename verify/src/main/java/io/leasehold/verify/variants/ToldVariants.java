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
                        "a lease that is doubted is lost without asking",
                        "engine/GrantMachine.java",
                        "doubted(new Verify(), actions);",
                        "lose(LossCause.NOT_OURS, actions);"),
                new Variant(
                        "unread-after-the-break",
                        "what may have been told while the connection was down is not looked at",
                        KEYS,
                        "            changed(null);\n",
                        ""),
                new Variant(
                        "reading-of-a-former-connection",
                        "the values of a reading count for the reading that is under way",
                        KEYS,
                        "read.reading() != readings || beingRead.isEmpty()",
                        "beingRead.isEmpty()"),
                new Variant(
                        "reading-of-a-former-hold",
                        "a hold is doubted after a reading that was made before it began",
                        KEYS,
                        "holds.get(hold.key) == hold;",
                        "holds.containsKey(hold.key);"),
                new Variant(
                        "reading-for-each-message",
                        "each message is followed by a reading, however many are under way",
                        KEYS,
                        "waiting || !beingRead.isEmpty() ||",
                        "waiting ||"),
                new Variant(
                        "reading-that-fails-is-the-last",
                        "after a reading that failed there is none",
                        KEYS,
                        "        actions.add(new Wait(pause));\n",
                        ""),
                new Variant(
                        "owner-of-a-longer-token",
                        "a value that begins like an owner token is that owner's",
                        KEYS,
                        "owner.hex() + \":\"",
                        "owner.hex()"),
                new Variant(
                        "late-extension-takes-the-key",
                        "the late answer to a renewal puts a former hold in the place of the next one",
                        KEYS,
                        "held.isNew() || (known == null && telling)",
                        "held.isNew() || telling"),
                new Variant(
                        "doubted-hold-is-forgotten",
                        "a hold that the engine had not yet when it was doubted is doubted once",
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
                        "each second the store is asked for what a reading at another server does not show",
                        KEYS,
                        "            doubts++;\n",
                        ""),
                new Variant(
                        "doubted-for-ever",
                        "what has ended at the store is asked about again and again",
                        KEYS,
                        "hold.untilAtNanos - nowNanos <= 0",
                        "false"),
                new Variant(
                        "flush-is-no-message",
                        "a message about all keys is about none",
                        KEYS,
                        "unread.addAll(holds.keySet());",
                        "unread.addAll(List.of());"));
    }
}
