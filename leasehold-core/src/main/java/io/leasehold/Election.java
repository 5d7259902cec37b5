package io.leasehold;

import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * A named election: of all candidates in all processes, at most one leads.
 *
 * <p>It is the exclusive lock of that name, held for as long as a candidate leads: operators see it as that lock, a
 * {@link DistributedLock} of the name excludes every leader, and a term is a lease with the fencing token as its number.
 *
 * <p><b>Guarantee.</b> {@link Term#isValid()} is false before another candidate can lead, also while a renewal hangs, under the
 * conditions of the store's {@link Guarantees}. As with every lease, a process that pauses after it has asked needs the
 * {@linkplain Term#fencingToken() fencing token} at the resource.
 *
 * <p>Stateless; safe for use by any thread. Its {@linkplain #options() options} are those of the client but for
 * {@link LockOptions#maxHold()}: a leader leads without limit, unless {@link #with} says otherwise.
 */
public interface Election {

    /** The name. */
    LockName name();

    /** The options with which candidates stand. */
    LockOptions options();

    /** The same election with other options, for later candidacies. */
    Election with(UnaryOperator<LockOptions> change);

    /**
     * Stands as a candidate until the candidacy or its client is closed: waits to be elected, runs {@code lead} for the term, gives the
     * term back when {@code lead} has returned, and stands again: at the end of the queue, where the store has one.
     *
     * <p>{@code lead} runs on the client's {@linkplain Leasehold.Builder#workExecutor work executor} and may block; its thread is
     * interrupted when its term ends. It must return then: the candidacy stands again only after that. If it throws, that is
     * logged, and the candidacy pauses for {@link LockOptions#retry()} before it stands again.
     *
     * <p>A store that cannot be reached does not end the candidacy: it is asked again after {@link LockOptions#retry()}.
     *
     * @param lead called once for each term, never twice at a time
     * @throws IllegalStateException if the client is closed
     * @throws UnsafeStoreException if the store does not accept the ttl
     */
    Candidacy stand(Consumer<? super Term> lead);

    /**
     * As {@link #stand}, for a leader that needs no thread: the term lasts until the returned stage has ended. No thread is interrupted
     * at its end; {@link Term#onEnd} tells it.
     *
     * @param lead called once for each term; not again before its stage has ended
     */
    Candidacy standAsync(Function<? super Term, ? extends CompletionStage<?>> lead);

    /**
     * The leader now, or empty if there is none. Asks the store and waits for its answer; does not react to interruption.
     *
     * @throws LockStoreException if the store cannot answer
     */
    Optional<Leader> leader();

    /**
     * Calls back with the leader that is there now, and after each change, until it is closed. The store is asked every
     * {@link LockOptions#recheck()}, with up to 20 % more at random: a change is told by then, a term shorter than that may be missed, and
     * while the store cannot answer nothing is told.
     *
     * @param observer called on a callback thread, never twice at a time; may block
     */
    Observation observe(Consumer<? super Optional<Leader>> observer);

    /** An observer's registration. */
    interface Observation extends AutoCloseable {
        /** Ends it; a call that is under way goes on. Never blocks. */
        @Override
        void close();
    }
}
