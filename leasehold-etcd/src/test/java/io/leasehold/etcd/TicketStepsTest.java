package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The requests of an export and of a resume: the key stays in the queue, and late copies change nothing. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class TicketStepsTest {

    private static final LockName LOCK = LockName.exactly("n");
    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration CLAIM = Duration.ofSeconds(60);
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final EtcdUri URI = EtcdUri.parse(StoreUri.parse("etcd://h:2379/p?electionTimeout=1s&readers=true"));

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final Keys keys = new Keys(URI.prefix());
    private final List<String> heard = new ArrayList<>();
    private final EtcdStore exporter = open("exporter");
    private final EtcdStore claimant = open("claimant");
    private final OwnerToken ticket = owner();

    private EtcdStore open(String who) {
        EtcdStore opened = new EtcdStore(URI, runtime, etcd, false);
        opened.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                heard.add("wake " + who);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                heard.add("lost " + who);
            }

            @Override
            public void reconnected() {}
        });
        return opened;
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/x", TTL.toNanos(), LIMIT.toNanos());
    }

    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private static Grant grant(AcquireReply reply) {
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) reply).grant();
    }

    private Grant granted() {
        return grant(now(exporter.acquire(request(LOCK, owner()))));
    }

    private ExportReply export(EtcdStore store, Grant grant, OwnerToken to) {
        return now(store.export(new ExportRequest(
                LOCK,
                grant.owner(),
                grant.tokens().last(),
                to,
                grant.tokens().first(),
                Holder.ticketOf("host/1/x"),
                CLAIM.toNanos(),
                LIMIT.toNanos())));
    }

    private AcquireReply resume(EtcdStore store, OwnerToken owner) {
        return now(store.resume(request(LOCK, owner), ticket));
    }

    private ReleaseReply release(EtcdStore store, OwnerToken owner, ReleaseRequest.Kind kind) {
        return now(store.release(new ReleaseRequest(List.of(LOCK), owner, 0, kind, LIMIT.toNanos())));
    }

    private RenewReply.Item renew(EtcdStore store, OwnerToken owner) {
        return now(store.renew(
                        new RenewBatch(List.of(new RenewBatch.Item(LOCK, owner, TTL.toNanos(), 0)), LIMIT.toNanos())))
                .items()
                .get(0);
    }

    private void loseTheNextAnswer(String verb) {
        etcd.afterNext(verb, () -> {
            throw (RuntimeException) ScriptedEtcd.broken();
        });
    }

    private ByteSequence key() {
        assertThat(etcd.queue(LOCK, keys)).hasSize(1);
        return etcd.queue(LOCK, keys).get(0);
    }

    @Test
    void aLeaseTravelsAndKeepsItsPlace() {
        Grant first = granted();
        long token = first.tokens().first();
        OwnerToken waiter = owner();
        AcquireRequest waiting =
                request(LOCK, waiter).waiting(Duration.ofSeconds(20).toNanos());
        assertThat(now(claimant.acquire(waiting))).isInstanceOf(AcquireReply.Queued.class);
        assertThat(export(exporter, first, ticket)).isInstanceOf(ExportReply.Exported.class);
        assertThat(renew(exporter, first.owner())).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(exporter.attempts()).isZero();

        OwnerToken owner = owner();
        Grant second = grant(resume(claimant, owner));
        assertThat(second.tokens().first()).isEqualTo(token + 1);
        assertThat(renew(claimant, owner)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(resume(exporter, owner())).isInstanceOf(AcquireReply.Busy.class);
        assertThat(heard).isEmpty();
        assertThat(release(claimant, owner, ReleaseRequest.Kind.RELEASE)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(etcd.queue(LOCK, keys)).hasSize(1);
        Grant third = grant(now(claimant.acquire(waiting)));
        assertThat(third.tokens().first()).isGreaterThan(second.tokens().first());
    }

    /** The claim is that of the first copy: a copy names the same lease. */
    @Test
    void anExportSurvivesALostReply() {
        Grant first = granted();
        loseTheNextAnswer("change");
        int mark = etcd.asked.size();
        ExportReply lost = export(exporter, first, ticket);
        assertThat(lost).isInstanceOf(ExportReply.Failed.class);
        assertThat(((ExportReply.Failed) lost).kind()).isEqualTo(FailureKind.UNKNOWN);
        assertThat(export(exporter, first, ticket)).isInstanceOf(ExportReply.Exported.class);
        assertThat(etcd.askedSince(mark).stream().filter(one -> one.startsWith("lease")))
                .containsExactly("lease 61");
        assertThat(export(exporter, first, ticket)).as("a copy later").isInstanceOf(ExportReply.Exported.class);
        assertThat(export(exporter, first, owner())).as("of another ticket").isInstanceOf(ExportReply.NotOurs.class);
    }

    /** The exporter no longer removes the key when its own hold would have ended, nor at its close. */
    @Test
    void theExporterForgetsTheKey() {
        Grant first = granted();
        export(exporter, first, ticket);
        runtime.runFor(TTL.multipliedBy(3));
        exporter.close();
        assertThat(etcd.valueOf(key())).startsWith("writer:0:" + ticket.publicId());
        grant(resume(claimant, owner()));
    }

    /** An export without an answer is undone: its key goes, whether it is that of the holder or of the ticket. */
    @Test
    void anUnconfirmedExportIsUndone() {
        Grant first = granted();
        loseTheNextAnswer("change");
        export(exporter, first, ticket);
        assertThat(etcd.valueOf(key())).startsWith("writer:0:");
        release(exporter, first.owner(), ReleaseRequest.Kind.UNDO);
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
        assertThat(release(exporter, ticket, ReleaseRequest.Kind.UNDO)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(resume(claimant, owner())).isInstanceOf(AcquireReply.Busy.class);
    }

    @Test
    void aLateCopyOfAnExportChangesNothing() {
        Grant first = granted();
        ByteSequence key = key();
        long made = first.tokens().first() / 16;
        ByteSequence from = ByteSequence.from(etcd.valueOf(key), java.nio.charset.StandardCharsets.UTF_8);
        export(exporter, first, ticket);
        OwnerToken owner = owner();
        grant(resume(claimant, owner));
        String held = etcd.valueOf(key);
        etcd.change(key, made, from, ByteSequence.from(new byte[] {'x'}), etcd.newLease(60));
        assertThat(etcd.valueOf(key)).isEqualTo(held);
        assertThat(release(exporter, first.owner(), ReleaseRequest.Kind.UNDO))
                .as("a late release of the exporter")
                .isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(renew(claimant, owner)).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void aResumeSurvivesALostReply() {
        export(exporter, granted(), ticket);
        OwnerToken owner = owner();
        loseTheNextAnswer("change");
        assertThat(resume(claimant, owner)).isInstanceOf(AcquireReply.Failed.class);
        assertThat(resume(exporter, owner())).isInstanceOf(AcquireReply.Busy.class);
        Grant second = grant(resume(claimant, owner));
        assertThat(second.owner()).isEqualTo(owner);
        assertThat(resume(claimant, owner)).as("again").isInstanceOf(AcquireReply.Granted.class);
        assertThat(renew(claimant, owner)).isInstanceOf(RenewReply.Renewed.class);
        assertThat(release(claimant, owner, ReleaseRequest.Kind.RELEASE)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
    }

    /** A claimant makes no key: a ticket whose claim is over is worth nothing. */
    @Test
    void aResumeTakesNoFreeLock() {
        export(exporter, granted(), ticket);
        etcd.remove(key());
        int mark = etcd.asked.size();
        assertThat(resume(claimant, owner())).isInstanceOf(AcquireReply.Busy.class);
        assertThat(etcd.askedSince(mark)).containsExactly("first");
        assertThat(claimant.attempts()).isZero();
    }

    /** The key may go between the read that finds the ticket and the swap. */
    @Test
    void aTicketMayEndBeforeTheSwap() {
        export(exporter, granted(), ticket);
        ByteSequence key = key();
        etcd.afterNext("lease", () -> etcd.remove(key));
        assertThat(resume(claimant, owner())).isInstanceOf(AcquireReply.Busy.class);
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
        assertThat(claimant.attempts()).isZero();
        assertThat(etcd.leases)
                .as("the lease of the claimant is not left behind")
                .hasSizeLessThanOrEqualTo(3);
    }

    /** Each resume takes one of the 16 tokens of the revision. */
    @Test
    void theTokensOfARevisionEnd() {
        Grant lease = granted();
        long token = lease.tokens().first();
        for (int i = 1; i <= 15; i++) {
            assertThat(export(exporter, lease, ticket)).isInstanceOf(ExportReply.Exported.class);
            lease = grant(resume(exporter, owner()));
            assertThat(lease.tokens().first()).isEqualTo(token + i);
        }
        ExportReply last = export(exporter, lease, ticket);
        assertThat(last).isInstanceOf(ExportReply.Failed.class);
        assertThat(((ExportReply.Failed) last).kind()).isEqualTo(FailureKind.PERMANENT);
        assertThat(renew(exporter, lease.owner())).isInstanceOf(RenewReply.Renewed.class);
    }

    @Test
    void aResumedWriterBecomesAReader() {
        Grant first = granted();
        export(exporter, first, ticket);
        Grant second = grant(resume(claimant, owner()));
        OwnerToken reader = owner();
        Grant read = grant(now(claimant.downgrade(request(LOCK.asRead(), reader), second.owner())));
        assertThat(read.tokens().first()).isEqualTo(first.tokens().first() + 2);
        assertThat(etcd.valueOf(key())).startsWith("reader:2:" + reader.publicId());
    }

    /** A client that does not know the resumed lease can renew and release it, by its owner token. */
    @Test
    void anotherClientFindsTheResumedLeaseByItsOwnerToken() {
        Grant first = granted();
        export(exporter, first, ticket);
        Grant second = grant(resume(claimant, owner()));
        assertThat(renew(exporter, second.owner())).isInstanceOf(RenewReply.Renewed.class);
        assertThat(renew(exporter, first.owner())).isInstanceOf(RenewReply.NotOurs.class);
        assertThat(release(exporter, first.owner(), ReleaseRequest.Kind.UNDO)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(release(exporter, second.owner(), ReleaseRequest.Kind.UNDO))
                .isInstanceOf(ReleaseReply.Released.class);
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
    }

    @Test
    void withoutRoomForTokensThereAreNoTickets() {
        EtcdUri plain = EtcdUri.parse(StoreUri.parse("etcd://h:2379/p?electionTimeout=1s"));
        assertThat(new EtcdStore(plain, runtime, etcd, false).keepsTickets()).isFalse();
        assertThat(exporter.keepsTickets()).isTrue();
    }
}
