package io.leasehold;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * A named election: of all candidates in all processes, at most one leads.
 *
 * <p>An election is the exclusive lock of that name, held while a candidate leads: operators see it as that lock, a
 * {@link DistributedLock} of the name excludes every leader, and a term is a lease whose number is the fencing token.
 *
 * <p><b>Guarantee.</b> {@link Term#isValid()} is false before another candidate can lead, even while a renewal hangs,
 * under the conditions of the store's {@link Guarantees}. As with every lease, a process can pause after the check;
 * therefore the resource must check the {@linkplain Term#fencingToken() fencing token}.
 *
 * <p>Stateless; safe for use by any thread. Its {@linkplain #options() options} are those of the client, except
 * {@link LockOptions#maxHold()}: a leader leads without limit, unless {@link #with} sets one.
 */
public interface Election {

    /** The name. */
    LockName name();

    /** The options with which candidates stand. */
    LockOptions options();

    /** The same election with other options, for later candidacies. */
    Election with(UnaryOperator<LockOptions> change);

    /**
     * Stands as a candidate until the candidacy or its client is closed. The candidate waits to be elected, runs
     * {@code lead} for the term, ends the term when {@code lead} has returned, and stands again: at the end of the
     * queue, if the store has one.
     *
     * <p>{@code lead} runs on the client's {@linkplain Leasehold.Builder#workExecutor work executor} and may block; its
     * thread is interrupted when its term ends. It must then return: the candidate stands again only after that. If it
     * throws an exception, Leasehold logs it, and the candidate pauses for {@link LockOptions#retry()} before it stands
     * again.
     *
     * <p>An unreachable store does not end the candidacy: the candidate retries after {@link LockOptions#retry()}.
     *
     * @param lead called once for each term, never twice at a time
     * @throws IllegalStateException if the client is closed
     * @throws UnsafeStoreException if the store does not accept the ttl
     */
    Candidacy stand(Consumer<? super Term> lead);

    /**
     * As {@link #stand}, for a leader that needs no thread: the term lasts until the returned stage has completed. No
     * thread is interrupted when the term ends; {@link Term#onEnd} reports it.
     *
     * @param lead called once for each term; not again before its stage has completed
     */
    Candidacy standAsync(Function<? super Term, ? extends CompletionStage<?>> lead);

    /**
     * The current leader, or empty if there is none. Asks the store and waits for its answer; does not react to
     * interruption.
     *
     * @throws LockStoreException if the store cannot answer
     */
    Optional<Leader> leader();

    /**
     * The candidates that wait to be elected, in their order, at most {@code limit}; empty for a store without a queue. A client
     * with several candidacies waits with one of them at a time, and a caller that waits for the lock of this name counts as a
     * candidate. Asks the store, once more for each client, and waits for its answers; does not react to interruption.
     *
     * @throws LockStoreException if the store cannot answer
     */
    List<Candidate> candidates(int limit);

    /**
     * Calls the observer with the current leader, and after each change, until the observation is closed. Leasehold
     * polls the store every {@link LockOptions#recheck()} plus up to 20 % at random: a change is reported within that
     * time, and a shorter term may be missed. While the store cannot answer, nothing is reported.
     *
     * @param observer called on a callback thread, never twice at a time; may block
     */
    Observation observe(Consumer<? super Optional<Leader>> observer);

    /** An observer's registration. */
    interface Observation extends AutoCloseable {
        /** Ends the observation; a call in progress completes. Never blocks. */
        @Override
        void close();
    }
}
