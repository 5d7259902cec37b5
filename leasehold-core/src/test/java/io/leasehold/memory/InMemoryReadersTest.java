package io.leasehold.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.quorum.HandClock;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the rule of readers, by hand and by random requests, of which some are late or doubled. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class InMemoryReadersTest {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final LockName WRITE = LockName.exactly("catalog");
    private static final LockName READ = WRITE.asRead();

    private final HandClock clock = new HandClock();
    private final InMemoryNode node = new InMemoryNode(clock);
    private final List<HandOver> handed = new ArrayList<>();
    private final List<LockName> woken = new ArrayList<>();
    private final List<OwnerToken> lost = new ArrayList<>();
    private long ballot = clock.wallMillis() * 1_000;

    InMemoryReadersTest() {
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                woken.add(name);
            }

            @Override
            public void handedOver(HandOver handOver) {
                handed.add(handOver);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                lost.add(owner);
            }

            @Override
            public void reconnected() {}
        });
    }

    private OwnerToken owner() {
        return OwnerToken.draw(clock);
    }

    private AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/" + owner.attemptId(), 10 * SECOND, SECOND);
    }

    private NodeReply propose(LockName name, OwnerToken owner, long candidate) {
        return node.acquire(new Ballot(request(name, owner), candidate, 1)).join();
    }

    private NodeReply propose(LockName name, OwnerToken owner) {
        return propose(name, owner, ++ballot);
    }

    private NodeReply queue(LockName name, OwnerToken owner, Duration claim) {
        AcquireRequest waiting = request(name, owner).waiting(3 * SECOND);
        return node.acquire(new Ballot(waiting, ++ballot, 1, claim.toNanos())).join();
    }

    private NodeReply downgrade(OwnerToken reader, OwnerToken writer) {
        return node.downgrade(new Ballot(request(READ, reader), ++ballot, 1), writer)
                .join();
    }

    private boolean release(LockName name, OwnerToken owner, long highest) {
        ReleaseRequest request = new ReleaseRequest(List.of(name), owner, highest, ReleaseRequest.Kind.RELEASE, SECOND);
        return node.release(request).join() instanceof ReleaseReply.Released;
    }

    private boolean renew(LockName name, OwnerToken owner) {
        RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(name, owner, 10 * SECOND, 0)), SECOND);
        return node.renew(batch).join().items().get(0) instanceof RenewReply.Renewed;
    }

    private static void assertYes(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Yes.class);
    }

    private static void assertHeld(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Held.class);
    }

    private static void assertStale(NodeReply reply) {
        assertThat(reply).isInstanceOf(NodeReply.Stale.class);
    }

    @Test
    void readersShareAndExcludeAWriter() {
        OwnerToken one = owner();
        OwnerToken two = owner();
        assertYes(propose(READ, one));
        assertYes(propose(READ, two));
        assertHeld(propose(WRITE, owner()));
        assertThat(node.readers(WRITE, 8).join()).hasSize(2);
        assertThat(node.describe(WRITE).join().orElseThrow().holder().id()).isEqualTo("readers");
        assertThat(release(READ, one, ballot)).isTrue();
        assertHeld(propose(WRITE, owner()));
        assertThat(release(READ, two, ballot)).isTrue();
        OwnerToken writer = owner();
        assertYes(propose(WRITE, writer));
        assertHeld(propose(READ, owner()));
        assertThat(node.readers(WRITE, 8).join()).isEmpty();
    }

    /** A reader with a smaller ballot than another reader's is granted: only writers and ended readers refuse it. */
    @Test
    void readersDoNotOvertakeEachOther() {
        long early = ++ballot;
        assertYes(propose(READ, owner()));
        assertYes(propose(READ, owner(), early));
        assertStale(propose(WRITE, owner(), early + 1));
    }

    @Test
    void aWriterRefusesReadersWithSmallerBallots() {
        long early = ++ballot;
        OwnerToken writer = owner();
        assertYes(propose(WRITE, writer));
        release(WRITE, writer, ballot);
        assertStale(propose(READ, owner(), early));
        assertYes(propose(READ, owner()));
        assertStale(propose(READ, owner(), early));
    }

    /** The late request of a reader that has ended is not granted, whether or not others hold. */
    @Test
    void whatHasEndedStaysEnded() {
        OwnerToken one = owner();
        long first = ++ballot;
        long late = ++ballot;
        assertYes(propose(READ, owner()));
        assertYes(propose(READ, one, first));
        release(READ, one, late);
        assertStale(propose(READ, one, late));
        assertStale(propose(READ, one, first));
        assertThat(renew(READ, one)).isFalse();
    }

    /** The late request stays refused after a writer whose ballot was between. */
    @Test
    void anUndoneReaderStaysEndedBehindAWriter() {
        OwnerToken undone = owner();
        OwnerToken writer = owner();
        assertYes(propose(READ, owner()));
        long between = ++ballot;
        long late = ++ballot;
        release(READ, undone, late);
        clock.pass(Duration.ofSeconds(10));
        assertStale(propose(WRITE, writer, between));
        assertYes(propose(WRITE, writer));
        release(WRITE, writer, ballot);
        assertStale(propose(READ, undone, late));
    }

    @Test
    void readersWaitForTheWriterAlthoughAnotherWaiterLeaves() {
        OwnerToken writer = owner();
        OwnerToken leaving = owner();
        OwnerToken reader = owner();
        assertYes(propose(WRITE, writer));
        assertHeld(queue(READ, reader, Duration.ofSeconds(2)));
        assertHeld(queue(WRITE, leaving, Duration.ofSeconds(2)));
        release(WRITE, leaving, ballot);
        assertThat(handed).isEmpty();
        release(WRITE, writer, ballot);
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(reader.attemptId());
    }

    /** A reader that was only woken is not passed by the writer behind it. */
    @Test
    void aWriterWaitsForTheWokenReaderBeforeIt() {
        OwnerToken writer = owner();
        OwnerToken reader = owner();
        assertYes(propose(WRITE, writer));
        assertHeld(queue(READ, reader, Duration.ZERO));
        assertHeld(queue(WRITE, owner(), Duration.ofSeconds(2)));
        release(WRITE, writer, ballot);
        assertThat(woken).containsExactly(READ);
        assertThat(handed).isEmpty();
        assertYes(propose(READ, reader));
    }

    @Test
    void eachReaderHasItsOwnEnd() {
        OwnerToken one = owner();
        OwnerToken two = owner();
        assertYes(propose(READ, one));
        assertYes(propose(READ, two));
        clock.pass(Duration.ofNanos(6 * SECOND));
        assertThat(renew(READ, two)).isTrue();
        clock.pass(Duration.ofNanos(6 * SECOND));
        ballot = clock.wallMillis() * 1_000 + 20_000_000;
        assertThat(node.readers(WRITE, 8).join()).extracting(Holder::id).containsExactly("host/1/" + two.attemptId());
        assertThat(renew(READ, one)).isFalse();
        clock.pass(Duration.ofNanos(5 * SECOND));
        assertThat(renew(READ, two)).isFalse();
        assertThat(node.describe(WRITE).join()).isEmpty();
    }

    @Test
    void aReaderBehindAWaitingWriterWaits() {
        OwnerToken one = owner();
        OwnerToken writer = owner();
        OwnerToken behind = owner();
        OwnerToken beside = owner();
        assertYes(propose(READ, one));
        assertHeld(queue(WRITE, writer, Duration.ofSeconds(2)));
        assertHeld(queue(READ, behind, Duration.ofSeconds(2)));
        assertHeld(queue(READ, beside, Duration.ofSeconds(2)));
        release(READ, one, ballot);
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(writer.attemptId());
        assertThat(handed).extracting(HandOver::name).containsExactly(WRITE);
        release(WRITE, writer, ballot);
        assertThat(handed)
                .extracting(HandOver::attemptId)
                .containsExactly(writer.attemptId(), behind.attemptId(), beside.attemptId());
        assertThat(handed.get(2).name()).isEqualTo(READ);
        assertThat(node.readers(WRITE, 8).join()).hasSize(2);
    }

    /** A writer that gives up, or falls silent, lets the readers behind it in beside those that hold. */
    @Test
    void aWriterThatLeavesLetsReadersIn() {
        OwnerToken writer = owner();
        OwnerToken behind = owner();
        assertYes(propose(READ, owner()));
        assertHeld(queue(WRITE, writer, Duration.ofSeconds(2)));
        assertHeld(queue(READ, behind, Duration.ZERO));
        assertThat(woken).isEmpty();
        release(WRITE, writer, ballot);
        assertThat(woken).containsExactly(READ);
        assertYes(propose(READ, behind));
        assertThat(node.readers(WRITE, 8).join()).hasSize(2);
    }

    @Test
    void aWriterBecomesAReader() {
        OwnerToken writer = owner();
        OwnerToken reader = owner();
        OwnerToken waiting = owner();
        assertYes(propose(WRITE, writer));
        assertHeld(queue(READ, waiting, Duration.ofSeconds(2)));
        long before = ++ballot;
        assertYes(downgrade(reader, writer));
        assertThat(handed).extracting(HandOver::attemptId).containsExactly(waiting.attemptId());
        assertStale(downgrade(reader, writer));
        ballot = handed.get(0).tokens().last();
        assertYes(downgrade(reader, writer));
        assertThat(renew(WRITE, writer)).isFalse();
        assertThat(renew(READ, reader)).isTrue();
        assertStale(propose(READ, owner(), before - 2));
        assertHeld(downgrade(owner(), writer));
        assertHeld(propose(WRITE, owner()));
    }

    @Test
    void anOperatorEndsReaders() {
        OwnerToken one = owner();
        OwnerToken two = owner();
        assertYes(propose(READ, one));
        assertYes(propose(READ, two));
        long late = ballot;
        clock.pass(Duration.ofNanos(SECOND));
        assertThat(node.forceRelease(WRITE, "nobody").join()).isFalse();
        assertThat(node.forceRelease(WRITE, "host/1/" + one.attemptId()).join()).isTrue();
        assertThat(lost).containsExactly(one);
        assertThat(node.forceRelease(WRITE, null).join()).isTrue();
        assertThat(lost).containsExactly(one, two);
        assertThat(node.describe(WRITE).join()).isEmpty();
        assertStale(propose(READ, two, late));
    }

    @Test
    void aRepeatedDowngradeHasTheTokenOfItsLastBallot() {
        OwnerToken writer = owner();
        OwnerToken reader = owner();
        assertYes(propose(WRITE, writer));
        assertYes(downgrade(reader, writer));
        ballot += 10;
        assertYes(downgrade(reader, writer));
        long last = ballot;
        release(READ, reader, 0);
        assertStale(propose(WRITE, owner(), last));
    }

    /** A repeated request with a shorter ttl, or one that arrives late, does not shorten the hold. */
    @Test
    void noRequestOfAReaderShortensItsHold() {
        OwnerToken reader = owner();
        assertYes(propose(READ, reader));
        AcquireRequest shorter =
                AcquireRequest.exclusive(List.of(READ), reader, "host/1/" + reader.attemptId(), SECOND, SECOND);
        assertYes(node.acquire(new Ballot(shorter, ++ballot, 1)).join());
        clock.pass(Duration.ofSeconds(5));
        assertThat(renew(READ, reader)).isTrue();
    }

    @Test
    void anEndDoesNotRaiseTheFloorsBeyondWhatTheNodeGrants() {
        long absurd = ballot + TimeUnit.HOURS.toMicros(1);
        release(READ, owner(), absurd);
        clock.pass(Duration.ofSeconds(8));
        ballot = clock.wallMillis() * 1_000;
        assertYes(propose(READ, owner()));
    }

    @Test
    void operatorsReadAsManyReadersAsTheyAskFor() {
        for (int i = 0; i < 3; i++) {
            assertYes(propose(READ, owner()));
        }
        assertThat(node.readers(WRITE, 2).join()).hasSize(2);
        assertThat(node.readers(READ, 8).join()).hasSize(3);
    }

    /** What one client has asked for, and the highest ballot of it. */
    private static final class Client {
        private final OwnerToken owner;
        private final LockName name;
        private long highest;
        private boolean ended;

        Client(OwnerToken owner, LockName name) {
            this.owner = owner;
            this.name = name;
        }
    }

    /** No writer is beside another holder, tokens of writers exceed all before, and an ended owner token stays ended. */
    @Test
    void randomRequestsBreakNoRule() {
        for (int seed = 0; seed < 400; seed++) {
            new RandomRun(seed).run();
        }
    }

    private static final class RandomRun {
        private final Random random;
        private final HandClock clock = new HandClock();
        private final InMemoryNode node = new InMemoryNode(clock);
        private final List<Client> clients = new ArrayList<>();
        private final Map<Client, Long> endsAtNanos = new HashMap<>();
        private final Set<Long> writersTokens = new HashSet<>();
        private final String seed;
        private long highestOfAll;
        private long highestOfWriters;

        RandomRun(int seed) {
            this.random = new Random(seed);
            this.seed = "seed " + seed;
        }

        void run() {
            for (int step = 0; step < 300; step++) {
                if (clients.isEmpty() || random.nextInt(4) == 0) {
                    clients.add(new Client(OwnerToken.draw(clock), random.nextInt(3) == 0 ? WRITE : READ));
                }
                clock.pass(Duration.ofNanos(random.nextInt(20) * SECOND / 20));
                Client client = clients.get(clients.size() - 1 - random.nextInt(Math.min(5, clients.size())));
                switch (random.nextInt(3)) {
                    case 0 -> release(client);
                    case 1 -> renew(client);
                    default -> propose(client);
                }
            }
        }

        private void propose(Client client) {
            long candidate = clock.wallMillis() * 1_000 - random.nextInt(3) * 500_000L + random.nextInt(1_000);
            AcquireRequest request = AcquireRequest.exclusive(
                    List.of(client.name), client.owner, client.owner.attemptId(), 3 * SECOND, SECOND);
            NodeReply reply = node.acquire(new Ballot(request, candidate, 1)).join();
            boolean late = client.ended && candidate <= client.highest;
            if (!client.ended) {
                client.highest = Math.max(client.highest, candidate);
            }
            if (!(reply instanceof NodeReply.Yes)) {
                return;
            }
            assertThat(late).as("%s: an ended owner token holds", seed).isFalse();
            boolean writes = !client.name.isRead();
            endsAtNanos.forEach((other, end) -> {
                if (other != client && end - clock.nanoTime() > 0) {
                    assertThat(writes || !other.name.isRead())
                            .as("%s: a writer beside another holder", seed)
                            .isFalse();
                }
            });
            assertThat(candidate)
                    .as("%s: the token %s", seed, writes ? "of a writer" : "of a reader")
                    .isGreaterThan(writes ? highestOfAll : highestOfWriters);
            highestOfAll = Math.max(highestOfAll, candidate);
            if (writes) {
                highestOfWriters = candidate;
                assertThat(writersTokens.add(candidate)).isTrue();
            }
            endsAtNanos.merge(client, clock.nanoTime() + 3 * SECOND, Math::max);
        }

        private void release(Client client) {
            client.ended = true;
            endsAtNanos.remove(client);
            node.release(new ReleaseRequest(
                            List.of(client.name), client.owner, client.highest, ReleaseRequest.Kind.RELEASE, SECOND))
                    .join();
        }

        private void renew(Client client) {
            RenewBatch batch =
                    new RenewBatch(List.of(new RenewBatch.Item(client.name, client.owner, 3 * SECOND, 0)), SECOND);
            boolean renewed = node.renew(batch).join().items().get(0) instanceof RenewReply.Renewed;
            Long end = endsAtNanos.get(client);
            assertThat(renewed)
                    .as("%s: renewed only while it holds", seed)
                    .isEqualTo(end != null && end - clock.nanoTime() > 0);
            if (renewed) {
                endsAtNanos.merge(client, clock.nanoTime() + 3 * SECOND, Math::max);
            }
        }
    }
}
