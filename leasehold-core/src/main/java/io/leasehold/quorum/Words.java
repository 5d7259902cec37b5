package io.leasehold.quorum;

import io.leasehold.NodeVote;
import java.util.List;
import java.util.stream.Collectors;

/** Lists of votes in one line, for messages. Pure. */
final class Words {

    private Words() {}

    static String of(List<NodeVote> votes) {
        return votes.stream().map(NodeVote::toString).collect(Collectors.joining("; "));
    }
}
