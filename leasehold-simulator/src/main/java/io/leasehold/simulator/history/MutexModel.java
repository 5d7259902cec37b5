package io.leasehold.simulator.history;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The four usual models of a lock for checking histories, extended by leases that end. An owner whose lease has ended
 * owns nothing, although it has not left; neither does a killed owner.
 */
public enum MutexModel {
    /** One owner at a time; only the owner releases, and only once. */
    OWNER_AWARE(false, false),
    /** An owner may enter again, and must leave as often; the lock is free after the last leave. */
    REENTRANT(true, false),
    /** Owner-aware, and tokens increase from owner to owner. */
    FENCED(false, true),
    /** Reentrant; tokens increase from owner to owner, and an owner that enters again sees its own token. */
    REENTRANT_FENCED(true, true);

    private final boolean reentrant;
    private final boolean fenced;

    MutexModel(boolean reentrant, boolean fenced) {
        this.reentrant = reentrant;
        this.fenced = fenced;
    }

    /** The steps that this model does not allow. It has no readers: see {@link ReadersChecker}. */
    public List<Violation> check(History history) {
        List<Violation> violations = new ArrayList<>(OverlapChecker.check(history));
        if (fenced) {
            violations.addAll(TokenChecker.check(history));
        }
        Map<String, Replay> replays = new HashMap<>();
        for (HistoryEvent event : history.events()) {
            if (isOfReaders(event)) {
                continue;
            }
            if (event instanceof HistoryEvent.Acquired e) {
                replay(replays, e.lock(), violations).acquired(e);
            } else if (event instanceof HistoryEvent.Extended e) {
                replay(replays, e.lock(), violations).extended(e);
            } else if (event instanceof HistoryEvent.Ended e) {
                replay(replays, e.lock(), violations).ended(e);
            } else if (event instanceof HistoryEvent.Nested e && reentrant) {
                replay(replays, e.lock(), violations).nested(e, fenced);
            } else if (event instanceof HistoryEvent.Released e) {
                replay(replays, e.lock(), violations).released(e);
            }
        }
        return violations;
    }

    private static boolean isOfReaders(HistoryEvent event) {
        return (event instanceof HistoryEvent.Acquired acquired && LeaseText.isRead(acquired.lock()))
                || (event instanceof HistoryEvent.Extended extended && LeaseText.isRead(extended.lock()))
                || (event instanceof HistoryEvent.Ended ended && LeaseText.isRead(ended.lock()))
                || (event instanceof HistoryEvent.Released released && LeaseText.isRead(released.lock()));
    }

    private static Replay replay(Map<String, Replay> replays, String lock, List<Violation> violations) {
        return replays.computeIfAbsent(lock, name -> new Replay(name, violations));
    }

    /** One hold of the lock. */
    private static final class Tenure {
        private final HistoryEvent.Acquired begun;
        private long untilAtNanos;
        private int depth = 1;
        private boolean released;
        private boolean succeeded;

        Tenure(HistoryEvent.Acquired begun) {
            this.begun = begun;
            this.untilAtNanos = begun.untilAtNanos();
        }
    }

    /** The steps of one lock. */
    private static final class Replay {
        private final String lock;
        private final List<Violation> violations;
        private final Map<String, Tenure> tenures = new HashMap<>();
        private @Nullable Tenure latest;

        Replay(String lock, List<Violation> violations) {
            this.lock = lock;
            this.violations = violations;
        }

        private static String key(String process, long token) {
            return process + '#' + token;
        }

        void acquired(HistoryEvent.Acquired event) {
            Tenure before = latest;
            if (before != null) {
                before.succeeded = true;
                if (before.depth > 1 && before.untilAtNanos > event.atNanos() && !before.released) {
                    violations.add(new Violation(
                            lock, "acquired while its owner was inside " + before.depth + " times: " + event));
                }
            }
            Tenure tenure = new Tenure(event);
            tenures.put(key(event.process(), event.token()), tenure);
            latest = tenure;
        }

        void extended(HistoryEvent.Extended event) {
            Tenure tenure = tenures.get(key(event.process(), event.token()));
            if (tenure != null) {
                tenure.untilAtNanos = Math.max(tenure.untilAtNanos, event.untilAtNanos());
            }
        }

        /**
         * From then on the owner relies on nothing: a store that detects its death grants the lock to another client at
         * once.
         */
        void ended(HistoryEvent.Ended event) {
            Tenure tenure = tenures.get(key(event.process(), event.token()));
            if (tenure != null) {
                tenure.untilAtNanos = Math.min(tenure.untilAtNanos, event.atNanos());
            }
        }

        void nested(HistoryEvent.Nested event, boolean fenced) {
            Tenure tenure = tenures.get(key(event.process(), event.token()));
            if (tenure == null) {
                boolean another = latest != null && latest.begun.process().equals(event.process());
                if (fenced || !another) {
                    violations.add(new Violation(
                            lock,
                            "entered again " + (another ? "with another token: " : "by another process: ") + event));
                }
                return;
            }
            boolean entered = event.depth() == tenure.depth + 1;
            if (!entered && event.depth() != tenure.depth - 1) {
                violations.add(new Violation(
                        lock, "from " + tenure.depth + " times inside to " + event.depth() + " in one step: " + event));
            }
            if (entered && tenure.succeeded) {
                violations.add(new Violation(lock, "entered again after another had it: " + event));
            }
            tenure.depth = event.depth();
        }

        void released(HistoryEvent.Released event) {
            Tenure tenure = tenures.get(key(event.process(), event.token()));
            boolean told = event.outcome().equals("RELEASED");
            if (tenure == null) {
                if (told) {
                    violations.add(new Violation(lock, "released by a process that does not own it: " + event));
                }
                return;
            }
            if (told && tenure.released) {
                violations.add(new Violation(lock, "released twice: " + event));
            }
            tenure.released |= told;
        }
    }
}
