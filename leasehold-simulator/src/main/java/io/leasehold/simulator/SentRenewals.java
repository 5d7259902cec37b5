package io.leasehold.simulator;

import io.leasehold.LockOptions;
import io.leasehold.spi.RenewReply;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The renewals of one grant, as its store has received them. */
final class SentRenewals {

    private static final class Sent {
        private final long atNanos;
        private long answeredAtNanos;
        private RenewReply.@Nullable Item answer;

        Sent(long atNanos) {
            this.atNanos = atNanos;
        }

        private boolean isAnsweredAt(long nanos) {
            return answer != null && answeredAtNanos - nanos <= 0;
        }
    }

    private final VirtualRuntime process;
    private final LockOptions options;
    private final List<Sent> all = new ArrayList<>();

    SentRenewals(VirtualRuntime process, LockOptions options) {
        this.process = process;
        this.options = options;
    }

    void sent() {
        all.add(new Sent(process.nanoTime()));
    }

    void answered(RenewReply.Item answer) {
        if (all.isEmpty()) {
            return;
        }
        Sent last = all.get(all.size() - 1);
        last.answer = answer;
        last.answeredAtNanos = process.nanoTime();
    }

    /**
     * Whether a check that began then may report now that less than {@code neededNanos} is left. That is so if a
     * renewal sent since then has failed, timed out, or left too little, or a renewal in flight has delayed it.
     */
    boolean explainRisk(long askedAtNanos, long neededNanos) {
        long nowNanos = process.nanoTime();
        long limitNanos = ClientOptions.ANSWER.toNanos();
        for (Sent one : all) {
            if (one.atNanos - askedAtNanos < 0) {
                boolean hasKeptIt =
                        !one.isAnsweredAt(askedAtNanos + limitNanos) && nowNanos - askedAtNanos >= limitNanos;
                if (hasKeptIt) {
                    return true;
                }
            } else if (one.answer == null) {
                if (nowNanos - one.atNanos >= limitNanos) {
                    return true;
                }
            } else if (!(one.answer instanceof RenewReply.Renewed renewed)
                    || renewed.sentAtNanos() + options.validity().toNanos() - nowNanos < neededNanos) {
                return true;
            }
        }
        return false;
    }
}
