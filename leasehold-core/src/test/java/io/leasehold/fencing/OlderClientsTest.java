package io.leasehold.fencing;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.fencing.Uses.Use;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of the forms in which resources keep the pair, together with clients that know one number and raise it alone: a
 * search over all histories of six uses, by clients of both kinds.
 */
@Tag("quick")
class OlderClientsTest {

    /** A form. Both kinds of clients know the number {@code any}. */
    private abstract static class Form {
        long any;

        abstract long writer();

        abstract void keep(TokenPair before, TokenPair after);

        boolean admits(Use use) {
            TokenPair before = new TokenPair(any, writer());
            keep(before, before.after(use.token(), use.access()));
            return before.decide("r", use.token(), use.access()).isAdmitted();
        }

        /** Decides as a client that knows one number. */
        boolean admitsByTheNumberAlone(long token) {
            if (token < any) {
                return false;
            } else if (token > any) {
                raise(token);
            }
            return true;
        }

        void raise(long token) {
            any = token;
        }

        /** Writes as a reader that stops before it writes the number itself. */
        void stopBetween(TokenPair before) {}
    }

    /**
     * The form of {@code SqlFencingGuard}: the writer's token counts while the newest token is the one that was newest
     * when it was written.
     */
    private static final class Columns extends Form {
        private long writer = -1;
        private long writerAt;

        @Override
        long writer() {
            return writerAt == any && writer >= 0 && writer <= any ? writer : any;
        }

        @Override
        void keep(TokenPair before, TokenPair after) {
            any = after.any();
            writerAt = after.any();
            writer = after.writer();
        }
    }

    /**
     * The form of {@code FencedFile} and {@code fenced.lua}: the writer's token counts while the newest token has a
     * mark.
     */
    private static final class Marked extends Form {
        private long writer = -1;
        private boolean marked;

        @Override
        long writer() {
            return marked && writer >= 0 && writer <= any ? writer : any;
        }

        @Override
        void keep(TokenPair before, TokenPair after) {
            if (after.equals(before)) {
                return;
            }
            if (after.writer() < after.any() && !marked) {
                writer = after.writer();
            }
            any = after.any();
            marked = after.writer() < after.any();
        }

        @Override
        void raise(long token) {
            super.raise(token);
            marked = false;
        }

        @Override
        void stopBetween(TokenPair before) {
            if (!marked) {
                writer = before.writer();
            }
        }
    }

    /** A second number, without a sign that the first one was raised alone. */
    private static final class TwoNumbers extends Form {
        private long writer;

        @Override
        long writer() {
            return writer;
        }

        @Override
        void keep(TokenPair before, TokenPair after) {
            any = after.any();
            writer = after.writer();
        }
    }

    /** The first wrong answer, or an empty text. */
    private static String search(Supplier<Form> form) {
        String[] found = {""};
        for (List<Use> leases : Uses.leases()) {
            // The second four are uses of a writer by an older client, and of a reader that stops between its two
            // writes.
            Uses.sequences(8, 6, sequence -> {
                if (found[0].isEmpty()) {
                    found[0] = wrong(form.get(), leases, sequence);
                }
            });
        }
        return found[0];
    }

    private static String wrong(Form form, List<Use> leases, int[] sequence) {
        Uses expected = new Uses();
        for (int choice : sequence) {
            Use use = leases.get(choice % 4);
            boolean second = choice >= 4;
            if (second && use.access() == Access.READ) {
                TokenPair before = new TokenPair(form.any, form.writer());
                if (before.decide("r", use.token(), use.access()).isAdmitted()) {
                    form.stopBetween(before);
                }
                continue;
            }
            boolean admitted = second ? form.admitsByTheNumberAlone(use.token()) : form.admits(use);
            if (admitted != expected.admits(use)) {
                return (admitted ? "admitted " : "refused ") + use + " after " + expected.admitted();
            }
        }
        return "";
    }

    @Test
    void aTokenThatAnOlderClientRegistersCountsAsAWriters() {
        assertThat(search(Columns::new)).isEmpty();
        assertThat(search(Marked::new)).isEmpty();
    }

    /** A late reader would read while the older client's holder has not finished. */
    @Test
    void aSecondNumberAloneIsNotEnough() {
        assertThat(search(TwoNumbers::new))
                .startsWith("admitted Use[token=2, access=READ]")
                .contains("token=3, access=WRITE");
    }
}
