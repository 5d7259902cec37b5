package io.leasehold.quorum;

import io.leasehold.Holder;
import io.leasehold.NodeVote;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Converts the nodes' answers to human-readable votes. Pure. */
final class Votes {

    private Votes() {}

    static NodeVote of(String node, @Nullable NodeReply reply) {
        if (reply instanceof NodeReply.Yes) {
            return new NodeVote(node, NodeVote.Answer.GRANTED, "");
        } else if (reply instanceof NodeReply.Held held) {
            Holder holder = held.holder();
            return new NodeVote(node, NodeVote.Answer.BUSY, holder == null ? "" : "held by " + holder.id());
        } else if (reply instanceof NodeReply.Stale stale) {
            return new NodeVote(node, NodeVote.Answer.REFUSED, "its fence is at " + stale.floor());
        } else if (reply instanceof NodeReply.Refused refused) {
            return new NodeVote(node, NodeVote.Answer.REFUSED, refused.reason());
        } else if (reply instanceof NodeReply.Quarantined young) {
            return new NodeVote(node, NodeVote.Answer.REFUSED, young.reason());
        } else if (reply instanceof NodeReply.Unborn) {
            return new NodeVote(node, NodeVote.Answer.REFUSED, "may have forgotten what it granted");
        } else if (reply instanceof NodeReply.OtherSet other) {
            return new NodeVote(node, NodeVote.Answer.REFUSED, "is a member of " + other.configuration());
        }
        return reply instanceof NodeReply.Failed failed ? failed(node, failed.error()) : silent(node);
    }

    static NodeVote of(String node, RenewReply.@Nullable Item reply) {
        if (reply instanceof RenewReply.Renewed) {
            return new NodeVote(node, NodeVote.Answer.GRANTED, "");
        } else if (reply instanceof RenewReply.NotOurs) {
            return new NodeVote(node, NodeVote.Answer.REFUSED, "does not hold the lock for this lease");
        }
        return reply instanceof RenewReply.Failed failed ? failed(node, failed.error()) : silent(node);
    }

    static NodeVote of(String node, @Nullable ReleaseReply reply) {
        if (reply instanceof ReleaseReply.Released) {
            return new NodeVote(node, NodeVote.Answer.GRANTED, "");
        } else if (reply instanceof ReleaseReply.NotOurs) {
            return new NodeVote(node, NodeVote.Answer.REFUSED, "did not hold the lock for this lease");
        }
        return reply instanceof ReleaseReply.Failed failed ? failed(node, failed.error()) : silent(node);
    }

    static NodeVote of(String node, @Nullable ExportReply reply) {
        if (reply instanceof ExportReply.Exported) {
            return new NodeVote(node, NodeVote.Answer.GRANTED, "");
        } else if (reply instanceof ExportReply.NotOurs) {
            return new NodeVote(node, NodeVote.Answer.REFUSED, "does not hold the lock for this lease");
        }
        return reply instanceof ExportReply.Failed failed ? failed(node, failed.error()) : silent(node);
    }

    /** Converts the answer of each node. */
    static <R> List<NodeVote> of(
            List<String> nodes, @Nullable R[] replies, BiFunction<String, @Nullable R, NodeVote> vote) {
        return IntStream.range(0, replies.length)
                .mapToObj(node -> vote.apply(nodes.get(node), replies[node]))
                .toList();
    }

    /** Formats votes in one line, for messages. */
    static String line(List<NodeVote> votes) {
        return votes.stream().map(NodeVote::toString).collect(Collectors.joining("; "));
    }

    private static NodeVote failed(String node, Throwable error) {
        String message = error.getMessage();
        return new NodeVote(node, NodeVote.Answer.FAILED, message == null ? error.toString() : message);
    }

    private static NodeVote silent(String node) {
        return new NodeVote(node, NodeVote.Answer.FAILED, "has not answered in time");
    }
}
