package io.leasehold.quorum;

import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StoreSignals;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A node in memory that records its requests and answers each verb as the test requires: late, not at all, or with
 * another answer.
 */
final class ScriptedNode implements LockNode, StoreAdmin {

    /** Stands for no answer. */
    static final Object SILENCE = new Object();

    final InMemoryNode memory;
    final List<Ballot> ballots = new ArrayList<>();
    final List<Long> ballotsAtNanos = new ArrayList<>();
    final List<Membership> memberships = new ArrayList<>();
    final List<ReleaseRequest> ends = new ArrayList<>();
    final List<Long> endsAtNanos = new ArrayList<>();
    final List<Birth> births = new ArrayList<>();
    final List<RenewBatch> renewals = new ArrayList<>();
    final List<ExportRequest> exports = new ArrayList<>();
    final List<Ballot> resumes = new ArrayList<>();
    final List<Ballot> downgrades = new ArrayList<>();
    final List<String> verbs = new ArrayList<>();
    /** The replacements of answers: a reply, {@link #SILENCE}, or a throwable to throw. */
    final Map<String, Supplier<?>> instead = new HashMap<>();
    /** The delay of an answer. */
    final Map<String, Long> delayNanos = new HashMap<>();

    String description = "memory:";
    StoreOperations operations = StoreOperations.none();
    StoreSignals ear;
    boolean closed;
    boolean keepsReaders = true;
    boolean failsToClose;
    /** The error that its close throws. */
    Error errorAtClose;

    private final HandClock clock;

    ScriptedNode(HandClock clock) {
        this.clock = clock;
        this.memory = new InMemoryNode(clock);
    }

    void answers(String verb, Object reply) {
        instead.put(verb, () -> reply);
    }

    void answersItself(String verb) {
        instead.remove(verb);
    }

    @SuppressWarnings("unchecked")
    private <R> CompletableFuture<R> answer(String verb, Supplier<CompletableFuture<R>> itself) {
        verbs.add(verb);
        Supplier<?> other = instead.get(verb);
        Object said = other == null ? null : other.get();
        if (said instanceof RuntimeException thrown) {
            throw thrown;
        }
        if (said == SILENCE) {
            return new CompletableFuture<>();
        }
        CompletableFuture<R> answer = said == null ? itself.get() : CompletableFuture.completedFuture((R) said);
        long delay = delayNanos.getOrDefault(verb, 0L);
        if (delay == 0) {
            return answer;
        }
        CompletableFuture<R> later = new CompletableFuture<>();
        clock.schedule(delay, () -> later.complete(answer.join()));
        return later;
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public Guarantees guarantees() {
        return memory.guarantees();
    }

    @Override
    public void listen(StoreSignals signals) {
        ear = signals;
        memory.listen(signals);
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return answer("probe", () -> memory.probe(timeoutNanos));
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        ballots.add(ballot);
        ballotsAtNanos.add(clock.nanoTime());
        memberships.add(membership);
        return answer("acquire", () -> memory.acquire(ballot, membership));
    }

    @Override
    public CompletableFuture<NodeReply> birth(Birth birth) {
        births.add(birth);
        return answer("birth", () -> memory.birth(birth));
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        renewals.add(batch);
        return answer("renew", () -> memory.renew(batch));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        ends.add(request);
        endsAtNanos.add(clock.nanoTime());
        return answer("release", () -> memory.release(request));
    }

    @Override
    public boolean keepsTickets() {
        return true;
    }

    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        exports.add(request);
        return answer("export", () -> memory.export(request));
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, Resume step, Membership membership) {
        resumes.add(ballot);
        return answer("resume", () -> memory.resume(ballot, ticket, step, membership));
    }

    @Override
    public boolean keepsReaders() {
        return keepsReaders;
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer, Membership membership) {
        downgrades.add(ballot);
        return answer("downgrade", () -> memory.downgrade(ballot, writer, membership));
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return answer("readers", () -> memory.readers(name, limit));
    }

    @Override
    public StoreAdmin admin() {
        return this;
    }

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return answer("describe", () -> memory.describe(name));
    }

    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        return answer("list", () -> memory.list(glob, limit));
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, String holderId) {
        return answer("forceRelease", () -> memory.forceRelease(name, holderId));
    }

    @Override
    public StoreOperations operations() {
        return operations;
    }

    @Override
    public void close() {
        closed = true;
        if (failsToClose) {
            throw new IllegalStateException("cannot be closed (made by the test)");
        }
        if (errorAtClose != null) {
            throw errorAtClose;
        }
    }
}
