package io.leasehold.engine;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** A store that records its requests, and answers only when the test does. Releases are answered at once. */
final class SilentStore implements LockStore, StoreAdmin {

    /** Whether the store reports itself as a set of nodes. */
    boolean ofNodes;

    /** Whether the store promises an order of waiters. */
    boolean ordered = true;

    /** Whether operators receive no information. */
    boolean showsNothing;

    @Override
    public boolean isOfNodes() {
        return ofNodes;
    }

    /** A request and the future of its answer. */
    record Asked<Q, A>(Q request, CompletableFuture<A> answer) {}

    private final List<Asked<AcquireRequest, AcquireReply>> acquires = new ArrayList<>();
    private final List<Asked<RenewBatch, RenewReply>> renewals = new ArrayList<>();
    private final List<ReleaseRequest> releases = new ArrayList<>();
    private final Map<LockName, HeldLock> records = new TreeMap<>();
    private StoreOperations operations = StoreOperations.none();
    private StorePermits permits;
    private Function<AcquireRequest, AcquireReply> atOnce;
    private ReleaseReply toReleases = new ReleaseReply.Released();
    private CompletableFuture<ReleaseReply> laterToReleases;
    private StoreSignals ear;
    private volatile Duration maxTtl = Duration.ofHours(24);
    private boolean closed;
    private boolean atomic = true;
    private Error next;

    /** Makes the next request fail, as in a driver that cannot start a thread. */
    synchronized void failNext(Error error) {
        next = error;
    }

    private void failIfTold() {
        Error error = next;
        next = null;
        if (error != null) {
            throw error;
        }
    }

    synchronized List<Asked<AcquireRequest, AcquireReply>> acquires() {
        return List.copyOf(acquires);
    }

    synchronized List<Asked<RenewBatch, RenewReply>> renewals() {
        return List.copyOf(renewals);
    }

    synchronized List<ReleaseRequest> releases() {
        return List.copyOf(releases);
    }

    /** Sets the further operations of the store. */
    void operations(StoreOperations told) {
        operations = told;
    }

    /** Makes the store keep permits. */
    void keeps(StorePermits kept) {
        permits = kept;
    }

    @Override
    public Optional<StorePermits> permits() {
        return Optional.ofNullable(permits);
    }

    /** Makes the store answer acquires at once, without the test. */
    synchronized void answersAtOnce(Function<AcquireRequest, AcquireReply> answer) {
        atOnce = answer;
    }

    /** Makes the store grant several locks only one after the other. */
    synchronized void isNotAtomic() {
        atomic = false;
    }

    synchronized void answersReleases(ReleaseReply reply) {
        toReleases = reply;
    }

    /** Sets the answer to all later releases. */
    synchronized void answersReleasesWith(CompletableFuture<ReleaseReply> later) {
        laterToReleases = later;
    }

    /** Makes the store report this holder of the lock to operators; null for a free lock. */
    synchronized void tells(LockName name, Holder holder) {
        if (holder == null) {
            records.remove(name);
        } else {
            records.put(name, new HeldLock(name, holder));
        }
    }

    @Override
    public StoreOperations operations() {
        return operations;
    }

    StoreSignals ear() {
        return ear;
    }

    @Override
    public String description() {
        return "silent:";
    }

    @Override
    public Guarantees guarantees() {
        return new Guarantees(
                Guarantee.Exclusion.BY_STORE,
                Guarantee.Fencing.INCREASING,
                ordered ? Guarantee.Queueing.FIFO : Guarantee.Queueing.WAKE_UP,
                Guarantee.Scope.PROCESS);
    }

    @Override
    public synchronized boolean isAtomicOver(List<LockName> names) {
        return atomic;
    }

    void accepts(Duration most) {
        maxTtl = most;
    }

    @Override
    public Duration maxTtl() {
        return maxTtl;
    }

    @Override
    public void listen(StoreSignals signals) {
        ear = signals;
    }

    @Override
    public synchronized CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        failIfTold();
        CompletableFuture<AcquireReply> answer = new CompletableFuture<>();
        acquires.add(new Asked<>(request, answer));
        if (atOnce != null) {
            answer.complete(atOnce.apply(request));
        }
        return answer;
    }

    @Override
    public synchronized CompletableFuture<RenewReply> renew(RenewBatch batch) {
        failIfTold();
        CompletableFuture<RenewReply> answer = new CompletableFuture<>();
        renewals.add(new Asked<>(batch, answer));
        return answer;
    }

    @Override
    public synchronized CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        failIfTold();
        releases.add(request);
        return laterToReleases != null ? laterToReleases : CompletableFuture.completedFuture(toReleases);
    }

    private boolean refusing;
    private int silentlyBroken;

    /** Makes the next exports, resumes and named successors return no future. */
    synchronized void returnsNoFuture(int times) {
        silentlyBroken = times;
    }

    /** Makes the store refuse all later resumes at once. */
    synchronized void refusesResumesAtOnce() {
        refusing = true;
    }

    /** Whether the store keeps locks for tickets. */
    boolean ticketed = true;

    private final List<Asked<ExportRequest, ExportReply>> exports = new ArrayList<>();
    private final List<Asked<AcquireRequest, AcquireReply>> resumes = new ArrayList<>();

    synchronized List<Asked<ExportRequest, ExportReply>> exports() {
        return List.copyOf(exports);
    }

    synchronized List<Asked<AcquireRequest, AcquireReply>> resumes() {
        return List.copyOf(resumes);
    }

    @Override
    public boolean keepsTickets() {
        return ticketed;
    }

    @Override
    public synchronized CompletableFuture<ExportReply> export(ExportRequest request) {
        failIfTold();
        CompletableFuture<ExportReply> answer = new CompletableFuture<>();
        exports.add(new Asked<>(request, answer));
        if (silentlyBroken > 0) {
            silentlyBroken--;
            return null;
        }
        return answer;
    }

    @Override
    public synchronized CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        failIfTold();
        CompletableFuture<AcquireReply> answer = new CompletableFuture<>();
        resumes.add(new Asked<>(request, answer));
        if (silentlyBroken > 0) {
            silentlyBroken--;
            return null;
        }
        if (refusing) {
            answer.complete(new AcquireReply.Busy(null, 0, List.of()));
        }
        return answer;
    }

    /** Whether the store keeps readers. */
    boolean shared = true;

    private final List<Asked<AcquireRequest, AcquireReply>> downgrades = new ArrayList<>();

    synchronized List<Asked<AcquireRequest, AcquireReply>> downgrades() {
        return List.copyOf(downgrades);
    }

    @Override
    public boolean keepsReaders() {
        return shared;
    }

    @Override
    public synchronized CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        failIfTold();
        CompletableFuture<AcquireReply> answer = new CompletableFuture<>();
        downgrades.add(new Asked<>(request, answer));
        return answer;
    }

    /** Whether a leader can name its successor. */
    boolean namesSuccessors = true;

    private final List<Asked<SuccessorRequest, SuccessorReply>> successors = new ArrayList<>();

    synchronized List<Asked<SuccessorRequest, SuccessorReply>> successors() {
        return List.copyOf(successors);
    }

    @Override
    public boolean namesSuccessors() {
        return namesSuccessors;
    }

    @Override
    public synchronized CompletableFuture<SuccessorReply> nameSuccessor(SuccessorRequest request) {
        failIfTold();
        CompletableFuture<SuccessorReply> answer = new CompletableFuture<>();
        successors.add(new Asked<>(request, answer));
        if (silentlyBroken > 0) {
            silentlyBroken--;
            return null;
        }
        return answer;
    }

    @Override
    public StoreAdmin admin() {
        return this;
    }

    @Override
    public synchronized CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        if (showsNothing) {
            return CompletableFuture.failedFuture(new StoreUnavailableException("made by the test", null));
        }
        return CompletableFuture.completedFuture(Optional.ofNullable(records.get(name)));
    }

    @Override
    public synchronized CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        return CompletableFuture.completedFuture(
                records.values().stream().limit(limit).toList());
    }

    /** The readers of every lock, as operators see them. */
    final List<Holder> readers = new ArrayList<>();

    @Override
    public synchronized CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return CompletableFuture.completedFuture(List.copyOf(readers));
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, String holderId) {
        return CompletableFuture.completedFuture(false);
    }

    synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public synchronized void close() {
        closed = true;
    }
}
