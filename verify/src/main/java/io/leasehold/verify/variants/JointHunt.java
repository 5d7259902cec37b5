package io.leasehold.verify.variants;

import java.util.List;
import java.util.function.IntFunction;

/**
 * Hunts a variant of joint calls, of shared connections, of the scripts' waiter string, of a server's notifications about held keys, of
 * leases that travel, of readers, of permits, or of fenced resources. It uses random walks over the calls without threads, the tests of the scripts on a real server, and
 * the tests of the deciding classes. Created in the class loader of the variant.
 */
public final class JointHunt {

    private JointHunt() {}

    /** How calls leave together. */
    public static final class OfCalls implements IntFunction<String> {

        /** Called by reflection. */
        public OfCalls() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of("io.leasehold.redis.topology.JointCallsWalkTest")).get();
        }
    }

    /** The scripts. */
    public static final class OfScripts implements IntFunction<String> {

        /** Called by reflection. */
        public OfScripts() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.redis.wire.ManyScriptsTest", "io.leasehold.redis.wire.CommonCaseScriptsTest"))
                    .get();
        }
    }

    /** The members of a set. */
    public static final class OfMembers implements IntFunction<String> {

        /** By reflection. */
        public OfMembers() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.redis.node.MemberLivesTest",
                            "io.leasehold.redis.node.MemberPlacesTest",
                            "io.leasehold.redis.wire.MemberManyScriptsTest",
                            "io.leasehold.redis.wire.MemberAcquireScriptTest",
                            "io.leasehold.redis.topology.StillLinkTest"))
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

        /** Called by reflection. */
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

    /** The leases that begin from a message. */
    public static final class OfClaims implements IntFunction<String> {

        /** By reflection. */
        public OfClaims() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.node.QueuedAnswerTest",
                            "io.leasehold.node.SingleNodeClaimTest",
                            "io.leasehold.engine.AcquireMachineClaimTest",
                            "io.leasehold.engine.GrantMachineClaimTest",
                            "io.leasehold.engine.ClaimedLeaseTest",
                            "io.leasehold.redis.topology.StillOriginTest",
                            "io.leasehold.redis.topology.StillNodeTest"))
                    .get();
        }
    }

    /** The leases that travel. */
    public static final class OfTickets implements IntFunction<String> {

        /** By reflection. */
        public OfTickets() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.memory.InMemoryTicketTest",
                            "io.leasehold.engine.ResumeMachineTest",
                            "io.leasehold.engine.LeaseExportTest",
                            "io.leasehold.engine.ResumeTest",
                            "io.leasehold.redis.wire.TicketScriptsTest"))
                    .get();
        }
    }

    /** The hand-over to a named candidate. */
    public static final class OfSuccessors implements IntFunction<String> {

        /** By reflection. */
        public OfSuccessors() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.memory.NamedSuccessorTest",
                            "io.leasehold.engine.NamedHandOverTest",
                            "io.leasehold.redis.wire.NameSuccessorScriptTest"))
                    .get();
        }
    }

    /** The leases that travel over a set of nodes. */
    public static final class OfQuorumTickets implements IntFunction<String> {

        /** By reflection. */
        public OfQuorumTickets() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.quorum.ExportTallyTest",
                            "io.leasehold.quorum.QuorumRoundTicketsTest",
                            "io.leasehold.quorum.QuorumTicketTest",
                            "io.leasehold.quorum.NodeReleasesTest",
                            "io.leasehold.redis.wire.MemberResumeScriptTest"))
                    .get();
        }
    }

    /** The messages of the server about held keys. */
    public static final class OfTold implements IntFunction<String> {

        /** Called by reflection. */
        public OfTold() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.redis.node.HeldKeysTest", "io.leasehold.engine.GrantMachineDoubtsTest"))
                    .get();
        }
    }

    /** The permits. */
    public static final class OfPermits implements IntFunction<String> {

        /** By reflection. */
        public OfPermits() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.memory.InMemoryPermitsTest",
                            "io.leasehold.engine.PermitsTest",
                            "io.leasehold.engine.PermitRoundsTest",
                            "io.leasehold.engine.SeveralPermitsTest",
                            "io.leasehold.engine.LocalQueuesTest",
                            "io.leasehold.node.SingleNodeClaimTest",
                            "io.leasehold.spi.toolkit.SlotWalkTest",
                            "io.leasehold.spi.toolkit.PermitsByLocksTest",
                            "io.leasehold.redis.wire.PermitScriptsTest",
                            "io.leasehold.redis.wire.PermitMessagesTest",
                            "io.leasehold.redis.PermitHandOverCommandsTest"))
                    .get();
        }
    }

    /** The readers of a lock. */
    public static final class OfReaders implements IntFunction<String> {

        /** By reflection. */
        public OfReaders() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.memory.InMemoryReadersTest",
                            "io.leasehold.engine.ReadJoinsTest",
                            "io.leasehold.engine.ReadSharesTest",
                            "io.leasehold.redis.wire.ReadScriptsTest",
                            "io.leasehold.redis.wire.ReadScriptsOtherClockTest",
                            "io.leasehold.redis.wire.ReadScriptsWalkTest"))
                    .get();
        }
    }

    /** The readers of a lock over a set of nodes. */
    public static final class OfQuorumReaders implements IntFunction<String> {

        /** By reflection. */
        public OfQuorumReaders() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(
                            List.of("io.leasehold.memory.MemberReadersTest", "io.leasehold.quorum.QuorumReadersTest"))
                    .get();
        }
    }

    /** The readers of a lock at a server that is a member of a set. */
    public static final class OfMemberReaders implements IntFunction<String> {

        /** By reflection. */
        public OfMemberReaders() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.redis.wire.MemberReadScriptsTest",
                            "io.leasehold.redis.wire.MemberWakeScriptsTest",
                            "io.leasehold.redis.wire.ReadersWaitScriptsTest",
                            "io.leasehold.redis.wire.MemberAcquireScriptTest",
                            "io.leasehold.redis.wire.MemberManyScriptsTest",
                            "io.leasehold.redis.node.MemberPlacesTest",
                            "io.leasehold.redis.node.VerifiedMemberTest",
                            "io.leasehold.redis.MemberReadersDifferentialTest"))
                    .get();
        }
    }

    /** The two tokens of a fenced resource. */
    public static final class OfFencing implements IntFunction<String> {

        /** By reflection. */
        public OfFencing() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of(
                            "io.leasehold.fencing.FencedFileReadersTest",
                            "io.leasehold.fencing.TokenPairTest",
                            "io.leasehold.redis.RedisFencingReadersTest"))
                    .get();
        }
    }

    /** The rows with the columns of both tokens, on the database whose updates and functions differ most. */
    public static final class OfFencedRows implements IntFunction<String> {

        /** By reflection. */
        public OfFencedRows() {}

        @Override
        public String apply(int runs) {
            return new TestHunt(List.of("io.leasehold.jdbc.MariaDbRowTest")).get();
        }
    }
}
