package io.leasehold.cli.process;

/** The containment of one run, prepared before the lock is requested; the implementation of {@link Containment}. */
sealed interface Enclosure {

    /** Its kind. */
    Containment way();

    /**
     * A control group.
     *
     * @param group made for this run
     */
    record Group(ControlGroup group) implements Enclosure {
        @Override
        public Containment way() {
            return Containment.CGROUP;
        }
    }

    /** A process above the command adopts orphans. */
    record Adopted() implements Enclosure {
        @Override
        public Containment way() {
            return Containment.REAPER;
        }
    }

    /** Polling alone. */
    record Polled() implements Enclosure {
        @Override
        public Containment way() {
            return Containment.REMEMBERED;
        }
    }

    /** Creates the strongest available one, no stronger than this. */
    static Enclosure make(Containment strongest, RunMark mark, ExactStart starts) {
        if (strongest == Containment.CGROUP) {
            ControlGroup group = ControlGroup.make(mark);
            if (group != null) {
                return new Group(group);
            }
        }
        return strongest != Containment.REMEMBERED && starts.adopts() ? new Adopted() : new Polled();
    }
}
