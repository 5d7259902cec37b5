package io.leasehold.engine;

import java.util.List;

/**
 * The decisions of a candidacy: when it stands, leads, releases its term, and ends. Pure and immutable.
 *
 * <p>Two rules determine the rest. A candidacy stands again only after the callback of its last term has returned
 * <em>and</em> that term was released. A term is released when its callback has returned, or its grace is over.
 *
 * @param phase the current activity
 * @param closing whether the candidacy is to end
 * @param term the state of the current or last term
 * @param failures the number of failures in a row; zero if it pauses to let other candidates come first
 */
record CandidacyMachine(Phase phase, boolean closing, TermState term, int failures) {

    /** The activity of a candidacy. */
    enum Phase {
        /** The candidacy waits to be elected. */
        STANDING,
        /** The candidacy leads, or one of its terms has not ended completely. */
        LEADING,
        /** The candidacy waits before it stands again. */
        PAUSING,
        /** The attempt is being withdrawn. */
        WITHDRAWING,
        /** The candidacy has ended. */
        ENDED
    }

    /**
     * The state of a term.
     *
     * @param told whether its end was reported
     * @param resigned whether the candidate has given it up for another
     * @param returned whether its callback has returned
     * @param failed whether its callback has thrown
     * @param releasing whether its release has begun
     * @param released whether its release was answered
     */
    record TermState(
            boolean told, boolean resigned, boolean returned, boolean failed, boolean releasing, boolean released) {
        static final TermState BEGUN = new TermState(false, false, false, false, false, false);

        TermState tell(boolean hasResigned) {
            return new TermState(true, resigned || hasResigned, returned, failed, releasing, released);
        }

        TermState callbackReturned(boolean hasFailed) {
            return new TermState(told, resigned, true, hasFailed, releasing, released);
        }

        TermState release() {
            return new TermState(told, resigned, returned, failed, true, released);
        }

        /** Records the answer. If a queue keeps the order, nothing is left to do for the other candidates. */
        TermState answered(boolean ordered) {
            return new TermState(told, resigned && !ordered, returned, failed, releasing, true);
        }
    }

    /** An event of the surroundings. */
    sealed interface Event {
        /** The attempt was granted. */
        record Elected() implements Event {}

        /** The attempt failed; {@code forGood} if another attempt would fail in the same way. */
        record AttemptFailed(boolean forGood) implements Event {}

        /** The attempt was withdrawn. */
        record Withdrawn() implements Event {}

        /** The lease of the term was lost. */
        record Lost() implements Event {}

        /** The candidate resigns; {@code byCallback} if its own callback has called it. */
        record Resign(boolean byCallback) implements Event {}

        /** The candidacy is to end; {@code byCallback} as in {@link Resign}. */
        record Close(boolean byCallback) implements Event {}

        /** The callback has returned, or its stage has ended. */
        record Returned(boolean failed) implements Event {}

        /** The time for the callback to return is over. */
        record GraceOver() implements Event {}

        /**
         * The release of the term was answered.
         *
         * @param ordered the store serves candidates in the order of their arrival
         */
        record Released(boolean ordered) implements Event {}

        /** The pause is over. */
        record PauseOver() implements Event {}
    }

    /** A step for the shell. */
    enum Action {
        /** Begin an attempt. */
        STAND,
        /** Withdraw the attempt. */
        WITHDRAW,
        /** Call the callback. */
        LEAD,
        /** Report the end of the term. */
        TELL_END,
        /** Give the callback time to return. */
        ARM_GRACE,
        /** Log that the callback continues without a term. */
        WARN,
        /** Release the term. */
        RELEASE,
        /** Wait before the next attempt. */
        PAUSE,
        /** Report the end of the candidacy. */
        END
    }

    /**
     * A decision.
     *
     * @param next the state after the event
     * @param actions the steps to perform, in this order
     */
    record Step(CandidacyMachine next, List<Action> actions) {}

    /** A candidacy that stands for the first time: its attempt is to be begun. */
    static CandidacyMachine standing() {
        return new CandidacyMachine(Phase.STANDING, false, TermState.BEGUN, 0);
    }

    private CandidacyMachine in(Phase next) {
        return new CandidacyMachine(next, closing, term, failures);
    }

    private CandidacyMachine with(TermState changed) {
        return new CandidacyMachine(phase, closing, changed, failures);
    }

    /**
     * Processes an event. An event that has no meaning in this phase, such as one of a term that has ended, changes
     * nothing.
     */
    Step on(Event event) {
        if (event instanceof Event.Close close) {
            return new CandidacyMachine(phase, true, term, failures).onClose(close.byCallback());
        }
        return switch (phase) {
            case STANDING -> onStanding(event);
            case LEADING -> onLeading(event);
            case PAUSING -> event instanceof Event.PauseOver ? step(in(Phase.STANDING), Action.STAND) : step(this);
            case WITHDRAWING -> event instanceof Event.Withdrawn ? step(in(Phase.ENDED), Action.END) : step(this);
            case ENDED -> step(this);
        };
    }

    private Step onClose(boolean byCallback) {
        return switch (phase) {
            case STANDING -> step(in(Phase.WITHDRAWING), Action.WITHDRAW);
            case LEADING -> stop(false, byCallback);
            case PAUSING -> step(in(Phase.ENDED), Action.END);
            case WITHDRAWING, ENDED -> step(this);
        };
    }

    private Step onStanding(Event event) {
        if (event instanceof Event.Elected) {
            return step(new CandidacyMachine(Phase.LEADING, closing, TermState.BEGUN, failures), Action.LEAD);
        } else if (event instanceof Event.AttemptFailed failed) {
            return failed.forGood() ? step(in(Phase.ENDED), Action.END) : pause(failures + 1);
        }
        return step(this);
    }

    private Step pause(int failuresInARow) {
        return step(new CandidacyMachine(Phase.PAUSING, closing, TermState.BEGUN, failuresInARow), Action.PAUSE);
    }

    private Step onLeading(Event event) {
        if (event instanceof Event.Lost) {
            return stop(false, false);
        } else if (event instanceof Event.Resign resign) {
            return stop(true, resign.byCallback());
        } else if (event instanceof Event.Returned returned && !term.returned()) {
            return with(term.callbackReturned(returned.failed())).giveBack();
        } else if (event instanceof Event.GraceOver && term.told() && !term.returned()) {
            return term.releasing() ? step(this, Action.WARN) : step(with(term.release()), Action.WARN, Action.RELEASE);
        } else if (event instanceof Event.Released released && term.releasing()) {
            return with(term.answered(released.ordered())).goOn();
        }
        return step(this);
    }

    /**
     * Ends the term and notifies its callback. The callback itself may report that it has nothing left to do. If it has
     * reported so and continues, later events notify it again.
     */
    private Step stop(boolean resigned, boolean byCallback) {
        if (term.returned()) {
            return step(this);
        }
        CandidacyMachine stopped = with(term.tell(resigned));
        if (byCallback) {
            return term.told()
                    ? stopped.giveBack()
                    : step(with(stopped.term.release()), Action.TELL_END, Action.RELEASE);
        }
        return term.told() ? step(stopped, Action.TELL_END) : step(stopped, Action.TELL_END, Action.ARM_GRACE);
    }

    /** Releases the term, once. */
    private Step giveBack() {
        return term.releasing() ? goOn() : step(with(term.release()), Action.RELEASE);
    }

    /** Continues once nothing of the term is left. */
    private Step goOn() {
        return term.returned() && term.released() ? next() : step(this);
    }

    /**
     * Begins the next phase. After a resignation, the other candidates come first: if no queue ensures that, each of
     * them polls once during the pause.
     */
    private Step next() {
        if (closing) {
            return step(in(Phase.ENDED), Action.END);
        } else if (term.failed()) {
            return pause(failures + 1);
        } else if (term.resigned()) {
            return pause(0);
        }
        return step(standing(), Action.STAND);
    }

    /** Whether a timer for this event is still needed. */
    boolean awaits(Event event) {
        return event instanceof Event.PauseOver
                ? phase == Phase.PAUSING
                : phase == Phase.LEADING && term.told() && !term.returned() && !term.releasing();
    }

    private static Step step(CandidacyMachine next, Action... actions) {
        return new Step(next, List.of(actions));
    }
}
