package io.leasehold.verify.variants;

import java.util.List;
import java.util.function.IntFunction;

/**
 * Hunts a variant of joint calls, of shared connections, of the scripts' line of waiters, or of what a server tells of held keys: by random walks over the calls
 * without threads, by the tests of the scripts on a real server, and by those of the classes that decide. Made in the class loader of the variant.
 */
public final class JointHunt {

    private JointHunt() {}

    /** How calls leave together. */
    public static final class OfCalls implements IntFunction<String> {

        /** By reflection. */
        public OfCalls() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of("io.leasehold.redis.topology.JointCallsWalkTest")).get();
        }
    }

    /** The scripts. */
    public static final class OfScripts implements IntFunction<String> {

        /** By reflection. */
        public OfScripts() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.redis.wire.ManyScriptsTest", "io.leasehold.redis.wire.CommonCaseScriptsTest"))
                    .get();
        }
    }

    /** The connections that clients share. */
    public static final class OfShared implements IntFunction<String> {

        /** By reflection. */
        public OfShared() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of("io.leasehold.redis.topology.StillSharedTest")).get();
        }
    }

    /** The line of waiters. */
    public static final class OfLine implements IntFunction<String> {

        /** By reflection. */
        public OfLine() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.redis.wire.QueueLayoutTest",
                            "io.leasehold.redis.wire.QueueLinesTest",
                            "io.leasehold.redis.wire.QueueBehindTest",
                            "io.leasehold.redis.wire.QueueBehindKeysTest",
                            "io.leasehold.redis.wire.QueueScriptTest",
                            "io.leasehold.redis.wire.HandOverScriptTest",
                            "io.leasehold.redis.wire.FullServerScriptTest",
                            "io.leasehold.redis.wire.AcquireScriptTest"))
                    .get();
        }
    }

    /** The messages of the server about held keys. */
    public static final class OfTold implements IntFunction<String> {

        /** By reflection. */
        public OfTold() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.redis.node.HeldKeysTest", "io.leasehold.engine.GrantMachineDoubtsTest"))
                    .get();
        }
    }
}
