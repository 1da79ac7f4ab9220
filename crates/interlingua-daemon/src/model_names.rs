//! The models that an agent can use.

use interlingua_models::Registry;

use crate::agents::Agent;
use crate::shapes::{AgentModelList, ModelDescription};

/// The server in the registry of models whose models the agent uses; `None` for agents that use models of many vendors.
fn vendor(agent: &Agent) -> Option<&'static str> {
    match agent.id {
        "claude" => Some("anthropic"),
        "codex" => Some("openai"),
        "gemini" => Some("gemini"),
        "kimi" => Some("moonshot"),
        _ => None,
    }
}

/// The known models of the agent's vendor. The list is empty for an agent that uses models of many vendors: its model names
/// depend on the settings of the user.
pub(crate) fn of(agent: &Agent) -> AgentModelList {
    if agent.program.is_none() {
        let id = "mock-model".to_owned();
        return AgentModelList { models: vec![ModelDescription { id: id.clone() }], default_model: Some(id) };
    }
    let models = vendor(agent).into_iter().flat_map(|vendor| Registry::built_in().models_of(vendor));
    let models = models.map(|model| ModelDescription { id: model.name.clone() }).collect();
    AgentModelList { models, default_model: None }
}
