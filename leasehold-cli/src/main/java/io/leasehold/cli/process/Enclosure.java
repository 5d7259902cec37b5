package io.leasehold.cli.process;

/** What keeps one run together, made ready before the lock is asked for; the part behind {@link Containment}. */
sealed interface Enclosure {

    /** The way it is. */
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

    /** A process above the command adopts what loses its parent. */
    record Adopted() implements Enclosure {
        @Override
        public Containment way() {
            return Containment.REAPER;
        }
    }

    /** Nothing but looking. */
    record Looked() implements Enclosure {
        @Override
        public Containment way() {
            return Containment.REMEMBERED;
        }
    }

    /** The strongest that can be had, no stronger than this. */
    static Enclosure make(Containment strongest, RunMark mark, ExactStart starts) {
        if (strongest == Containment.CGROUP) {
            ControlGroup group = ControlGroup.make(mark);
            if (group != null) {
                return new Group(group);
            }
        }
        return strongest != Containment.REMEMBERED && starts.adopts() ? new Adopted() : new Looked();
    }
}
