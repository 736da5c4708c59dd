// LLVM's dominator tree as clang and `opt` compute it: DominatorTree::recalculate, by Semi-NCA, on functions
// with one block per vertex. Called in this process, so neither parsing IR nor printing is timed; freeing the
// trees of the search before is. A graph gets an entry of its own, which branches to the source.

#include "rival.hpp"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

using namespace llvm;

class Llvm : public rival::Adapter {
public:
    Llvm(const rival::Graph& graph, const rival::Job&)
        : graph_(graph), module_("", context_), blocks_(graph.vertices()), trees_(graph.parts())
    {
        for (size_t part = 0; part < graph.parts(); ++part) build(part);
    }

    std::string facts() const override
    {
        return "version=" LLVM_VERSION_STRING;
    }

    void solve(int64_t source) override
    {
        if (source >= 0) module_.begin()->getEntryBlock().getTerminator()->setSuccessor(0, blocks_[source]);
        size_t part = 0;
        for (Function& function : module_) trees_[part++].recalculate(function);
    }

    void answer(rival::Answer& out) override
    {
        std::vector<uint32_t> idom(blocks_.size(), rival::none);
        for (size_t part = 0; part < trees_.size(); ++part)
            for (int64_t v = graph_.first_vertex[part]; v < graph_.first_vertex[part + 1]; ++v)
                if (auto* node = trees_[part].getNode(blocks_[v])) {
                    auto* above = node->getIDom() ? node->getIDom()->getBlock() : blocks_[v];
                    idom[v] = ids_.lookup(ids_.count(above) ? above : blocks_[v]);
                }
        out.column("idom", idom);
    }

private:
    void build(size_t part)
    {
        auto* type = FunctionType::get(Type::getVoidTy(context_), Type::getInt32Ty(context_), false);
        auto* function = Function::Create(type, Function::ExternalLinkage, "", module_);
        BasicBlock** block = &blocks_[graph_.first_vertex[part]];
        auto* start = graph_.entries.empty() ? BasicBlock::Create(context_, "", function) : nullptr;
        const int64_t n = graph_.first_vertex[part + 1] - graph_.first_vertex[part];
        for (int64_t v = 0; v < n; ++v) ids_[block[v] = BasicBlock::Create(context_, "", function)] = v;
        if (start) IRBuilder<>(start).CreateBr(block[0]);
        if (!start) block[graph_.entries[part]]->moveBefore(&function->getEntryBlock());
        for (int64_t v = 0; v < n; ++v) {
            const int64_t* arcs = &graph_.offsets[graph_.first_vertex[part] + v];
            const uint32_t *head = graph_.targets.data() + arcs[0], count = arcs[1] - arcs[0];
            IRBuilder<> at(block[v]);
            if (count == 0) at.CreateUnreachable();
            if (count == 1) at.CreateBr(block[head[0]]);
            if (count == 2) at.CreateCondBr(at.getTrue(), block[head[0]], block[head[1]]);
            if (count < 3) continue;
            auto* many = at.CreateSwitch(function->getArg(0), block[head[0]], count - 1);
            for (uint32_t i = 1; i < count; ++i) many->addCase(at.getInt32(i), block[head[i]]);
        }
    }

    const rival::Graph& graph_;
    LLVMContext context_;
    Module module_;
    std::vector<BasicBlock*> blocks_;
    DenseMap<const BasicBlock*, uint32_t> ids_;
    std::vector<DominatorTree> trees_;
};

int main(int count, char** arguments)
{
    return rival::serve<Llvm>(count, arguments);
}
