package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.StoreUri;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests that the scripts of a member and their model in Java give the same answers to readers and writers of several clients,
 * which wait with places, are kept out, downgrade, repair and end, in random order.
 *
 * <p>As in {@link NodeDifferentialTest}, the fence is ahead of both clocks in a walk, so that they do not matter.
 */
@Tag("quick")
final class MemberReadersDifferentialTest {

    private static final int WALKS = Integer.getInteger("leasehold.differential.walks", 100);
    private static final int STEPS = 60;
    private static final int CLIENTS = 3;
    private static final long AHEAD_MICROS = 6_000_000;
    private static final long LONG_NANOS = TimeUnit.MINUTES.toNanos(5);
    private static final long TIMEOUT_NANOS = NodeDifferentialTest.TIMEOUT_NANOS;
    private static final String SET = "set";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final Map<String, Integer> seen = new TreeMap<>();
    private final List<LockNode> clients = new ArrayList<>();
    private LockRuntime runtime;
    private InMemoryNode model;

    @BeforeEach
    void open() {
        runtime = new SystemLockRuntime();
        model = new InMemoryNode(runtime);
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(member());
        }
        for (LockNode each : List.of(clients.get(0), model)) {
            NodeBench.answer(each.birth(Birth.declared(SET, TIMEOUT_NANOS)));
        }
        clients.forEach(this::listens);
    }

    @AfterEach
    void close() {
        clients.forEach(LockNode::close);
        runtime.close();
    }

    private LockNode member() {
        Deployment where = Deployment.parse(
                StoreUri.parse("redis://127.0.0.1:" + SERVER.server().port()));
        NodeOpening opening = new NodeOpening(where, LettuceDriver.of(where, new DriverThreads()), runtime);
        assertThat(NodeBench.answer(opening.outcome()).failure()).isNull();
        return opening.node(NodeSettings.ofMember(RedisGuarantees.single(true)));
    }

    /** A client whose subscription is not live yet has no place. */
    private void listens(LockNode client) {
        LockName name = LockName.exactly("listen");
        NodeReply held = propose(client, name, OwnerToken.draw(runtime), micros(client), 0, false);
        assertThat(held).isNotInstanceOf(NodeReply.Failed.class);
        OwnerToken waiter = OwnerToken.draw(runtime);
        NodeBench.until(
                "it listens",
                () -> propose(client, name, waiter, micros(client), 5, true) instanceof NodeReply.Held reply
                        && reply.queued());
    }

    private static long micros(LockNode node) {
        return ((NodeReply.Answered) NodeBench.answer(node.probe(TIMEOUT_NANOS))).serverMicros();
    }

    private NodeReply propose(
            LockNode node, LockName name, OwnerToken owner, long candidate, long place, boolean waits) {
        return NodeBench.answer(node.acquire(ballot(name, owner, "host/1/x", candidate, place, waits), membership()));
    }

    private static Ballot ballot(
            LockName name, OwnerToken owner, String holder, long candidate, long place, boolean waits) {
        AcquireRequest plain = AcquireRequest.exclusive(List.of(name), owner, holder, LONG_NANOS, TIMEOUT_NANOS);
        return new Ballot(waits ? plain.waiting(LONG_NANOS) : plain, candidate, 1, 0, place);
    }

    private static Membership membership() {
        return new Membership(SET, 1_000, 0, 7_500_000, Membership.Persistence.VOLATILE);
    }

    @Test
    void scriptsAndModelAgreeOnReadersThatWaitDowngradeAndEnd() {
        int conclusive = 0;
        for (long seed = 1; conclusive < WALKS; seed++) {
            assertThat(seed).as("walks that took too long").isLessThan(3L * WALKS);
            conclusive += new Walk(seed).run() ? 1 : 0;
        }
        assertThat(seen.keySet())
                .as("every answer was compared")
                .contains("write Yes", "write Held", "write Stale", "read Yes", "read Held", "read Stale")
                .contains("repair Yes", "downgrade Yes", "downgrade Held", "end Released", "end NotOurs")
                .contains("renew Renewed", "renew NotOurs", "kept out of a free lock", "kept out of readers");
    }

    /** An attempt of one client, as a reader or a writer: its owner token, and its place if it waits. */
    private record Attempt(OwnerToken owner, boolean waits, long place) {}

    private final class Walk {
        private final Random random;
        private final String where;
        private final LockName name;
        /** Two for each client: as a writer, as a reader. */
        private final Attempt[] attempts = new Attempt[2 * CLIENTS];

        private final List<String> steps = new ArrayList<>();
        private final List<String> differences = new ArrayList<>();
        private long top;
        private long lastPlace = 1_000;

        Walk(long seed) {
            random = new Random(seed);
            where = "seed " + seed;
            name = LockName.exactly("walk-" + seed);
            for (int i = 0; i < attempts.length; i++) {
                attempts[i] = fresh();
            }
        }

        private Attempt fresh() {
            boolean waits = random.nextInt(3) > 0;
            // Neighbours, and sometimes the same place.
            lastPlace += random.nextInt(3);
            return new Attempt(OwnerToken.draw(runtime), waits, waits ? lastPlace : 0);
        }

        boolean run() {
            long start = Math.max(micros(clients.get(0)), micros(model)) + AHEAD_MICROS;
            top = start;
            both("raise", 0, node -> ended(node, name, OwnerToken.draw(runtime), start, ReleaseRequest.Kind.UNDO));
            for (int i = 0; i < STEPS && differences.isEmpty(); i++) {
                step(random.nextInt(attempts.length));
            }
            boolean inTime = Math.max(micros(clients.get(0)), micros(model)) < start - AHEAD_MICROS / 4;
            if (inTime) {
                assertThat(differences).as("%s: %s", where, steps).isEmpty();
            }
            return inTime;
        }

        private LockName nameOf(int who) {
            return who % 2 == 0 ? name : name.asRead();
        }

        /** A ballot near the highest so far: some are stale. */
        private long candidate() {
            long candidate = top + 1 + random.nextInt(20) - (random.nextInt(4) == 0 ? random.nextInt(40) : 0);
            top = Math.max(top, candidate);
            return candidate;
        }

        private void step(int who) {
            switch (random.nextInt(12)) {
                case 0 -> renew(who);
                case 1 -> repair(who);
                case 2 -> downgrade(who);
                case 3, 4, 5, 6 -> end(who);
                default -> propose(who, candidate());
            }
            both("holders", who, this::holders);
        }

        private void propose(int who, long candidate) {
            Attempt attempt = attempts[who];
            String kind = who % 2 == 0 ? "write " : "read ";
            Ballot ballot = ballot(
                    nameOf(who), attempt.owner(), "host/1/" + who / 2, candidate, attempt.place(), attempt.waits());
            both(kind + who + " at " + attempt.place(), who, node -> said(kind, acquire(node, ballot)));
        }

        private NodeReply acquire(LockNode node, Ballot ballot) {
            return NodeBench.answer(node.acquire(ballot, membership()));
        }

        /** Of an attempt that does not wait: that of a holder at other members. */
        private void repair(int who) {
            if (!attempts[who].waits()) {
                Ballot ballot = ballot(
                        nameOf(who), attempts[who].owner(), "host/1/" + who / 2, candidate(), Ballot.HOLDERS, false);
                both("repair " + who, who, node -> said("repair ", acquire(node, ballot)));
            }
        }

        private void renew(int who) {
            RenewBatch batch = new RenewBatch(
                    List.of(new RenewBatch.Item(nameOf(who), attempts[who].owner(), LONG_NANOS, 0)), TIMEOUT_NANOS);
            both("renew " + who, who, node -> {
                String told = NodeBench.answer(node.renew(batch))
                        .items()
                        .get(0)
                        .getClass()
                        .getSimpleName();
                seen.merge("renew " + told, 1, Integer::sum);
                return told;
            });
        }

        /** The reader of the client takes the place of its writer, which may hold nothing. */
        private void downgrade(int who) {
            int writer = who - who % 2;
            OwnerToken reader = random.nextInt(3) == 0 ? attempts[writer + 1].owner() : OwnerToken.draw(runtime);
            Ballot ballot = ballot(name.asRead(), reader, "host/1/" + writer / 2, candidate(), 0, false);
            OwnerToken former = attempts[writer].owner();
            both(
                    "downgrade " + writer,
                    who,
                    node -> said("downgrade ", NodeBench.answer(node.downgrade(ballot, former, membership()))));
            if (steps.get(steps.size() - 1).endsWith("Yes") && !reader.equals(attempts[writer + 1].owner())) {
                end(writer + 1, ReleaseRequest.Kind.UNDO);
                attempts[writer + 1] = new Attempt(reader, false, 0);
                end(writer, ReleaseRequest.Kind.RELEASE);
            }
        }

        private void end(int who) {
            ReleaseRequest.Kind[] kinds = ReleaseRequest.Kind.values();
            ReleaseRequest.Kind kind = kinds[random.nextInt(kinds.length)];
            end(
                    who,
                    kind == ReleaseRequest.Kind.SUPERSEDED && !attempts[who].waits() ? ReleaseRequest.Kind.UNDO : kind);
        }

        private void end(int who, ReleaseRequest.Kind kind) {
            Attempt attempt = attempts[who];
            long ballot = random.nextInt(3) == 0 ? top : candidate();
            both(kind + " " + who, who, node -> ended(node, nameOf(who), attempt.owner(), ballot, kind));
            if (kind != ReleaseRequest.Kind.SUPERSEDED) {
                attempts[who] = fresh();
                return;
            }
            // It asks again at once: the model would keep the place under the former owner token, which no request
            // ends.
            attempts[who] = new Attempt(OwnerToken.draw(runtime), true, attempt.place());
            propose(who, ++top);
        }

        private String ended(LockNode node, LockName of, OwnerToken owner, long ballot, ReleaseRequest.Kind kind) {
            ReleaseReply reply =
                    NodeBench.answer(node.release(new ReleaseRequest(List.of(of), owner, ballot, kind, TIMEOUT_NANOS)));
            String told = reply.getClass().getSimpleName();
            seen.merge("end " + told, 1, Integer::sum);
            return told;
        }

        private String said(String kind, NodeReply reply) {
            seen.merge(kind + reply.getClass().getSimpleName(), 1, Integer::sum);
            if (reply instanceof NodeReply.Stale stale) {
                return "stale " + stale.floor();
            } else if (reply instanceof NodeReply.Held held) {
                String holder = held.holder() == null ? "free" : held.holder().id();
                if (holder.equals("free") && !kind.startsWith("downgrade")) {
                    seen.merge("kept out of a free lock", 1, Integer::sum);
                } else if (holder.equals(Holder.READERS) && kind.equals("read ")) {
                    seen.merge("kept out of readers", 1, Integer::sum);
                }
                return "held by " + holder + (held.queued() ? ", queued" : "");
            }
            return reply.getClass().getSimpleName();
        }

        private String holders(LockNode node) {
            String holder = NodeBench.answer(node.admin().describe(name))
                    .map(held -> held.holder().id())
                    .orElse("free");
            // After a late copy with a smaller ballot, the tokens may be shown differently.
            return holder
                    + NodeBench.answer(node.admin().readers(name, 100)).stream()
                            .map(Holder::id)
                            .sorted()
                            .toList();
        }

        private void both(String what, int who, Function<LockNode, String> act) {
            String real = act.apply(clients.get(who / 2));
            String modelled = act.apply(model);
            steps.add(what + ": " + real);
            if (!real.equals(modelled)) {
                differences.add(what + ": the scripts say " + real + ", the model says " + modelled);
            }
        }
    }
}
